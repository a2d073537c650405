"""Marginal tables of a histogram, measured adaptively, and a public guess of the whole that fits them."""
