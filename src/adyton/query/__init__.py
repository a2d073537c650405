"""Queries: frozen values, how they are read from text, and their canonical spelling."""
