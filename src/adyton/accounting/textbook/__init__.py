"""Composition and conversions as the literature has them: comparisons, on no answer's path."""
