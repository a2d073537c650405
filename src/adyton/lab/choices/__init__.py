"""Selections and sparse vectors of the literature, broken and whole."""
