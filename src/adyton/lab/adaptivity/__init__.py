"""Queries chosen by answers: how an analyst fools himself, and what stops it."""
