"""How each engine spells what all of them must mean."""
