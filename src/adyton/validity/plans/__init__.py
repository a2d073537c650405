"""How many queries fit a tolerance, and with which noise: plans by the subset theorem."""
