"""Queries from one declared class: one width for all of them, however many there are."""
