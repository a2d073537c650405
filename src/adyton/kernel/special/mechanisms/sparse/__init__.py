"""Sparse vectors: a stream of comparisons, of which only the yes costs."""
