"""Connections: how they begin, which messages are spoken, and how they end."""
