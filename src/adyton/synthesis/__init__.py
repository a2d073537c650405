"""Synthetic tables, the public side: what is planned, what follows from what was measured, how good it is."""
