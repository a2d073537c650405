"""Holdouts that apply rules of a declared class themselves: one width for all scores, however many."""
