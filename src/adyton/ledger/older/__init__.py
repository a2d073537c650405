"""Ledgers of formats that were, and how they become ledgers of today."""
