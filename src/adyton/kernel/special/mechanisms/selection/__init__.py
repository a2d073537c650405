"""Choosing one of several candidates privately."""
