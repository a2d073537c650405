"""Composition by privacy loss distributions, certified."""
