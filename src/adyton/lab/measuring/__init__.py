"""Noise on numbers: how large it is, how it adds up, and what is gained by measuring together."""
