"""Ledgers beside a file: in PostgreSQL, with a shared budget behind it, or with a checkpoint elsewhere."""
