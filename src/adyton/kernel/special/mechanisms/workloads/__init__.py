"""Many linear queries answered together."""
