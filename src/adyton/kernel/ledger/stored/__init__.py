"""Ledgers in the tables of a database: SQLite beside the study, or Postgres elsewhere."""
