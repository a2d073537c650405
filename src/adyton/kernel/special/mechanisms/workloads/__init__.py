"""Many linear questions answered together."""
