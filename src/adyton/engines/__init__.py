"""Engines return exact integers to the curator, and to nobody else."""
