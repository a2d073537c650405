"""Monitors: many queries paid for by one charge, of which only the yes is shown."""
