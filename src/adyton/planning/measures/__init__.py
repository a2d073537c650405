"""Measures: what is read for each, with which noise, and the way back from noisy integers to values."""
