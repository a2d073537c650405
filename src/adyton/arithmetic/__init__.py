"""Interval arithmetic, for theorems and for values that are derived from answers."""
