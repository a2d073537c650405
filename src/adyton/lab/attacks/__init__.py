"""Attacks on answers that are exact, repeated, too many or made of floats, and on a curator."""
