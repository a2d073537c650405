"""Texts that ask several queries for one table, or none: UNION ALL, sets of groups, and what is free."""
