"""Texts that ask several questions for one table, or none: UNION ALL, sets of groups, and what is free."""
