"""Answers and previews read back from their JSON: what came over a network is the same object."""
