"""Queries of a batch answered together, from one strategy of public cells."""
