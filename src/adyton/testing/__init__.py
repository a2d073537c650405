"""Contracts for plug-in writers: a back end is accepted when it passes the contract of what it replaces.

The modules in here need ``pytest`` and ``hypothesis``; nothing else in adyton imports them.
"""
