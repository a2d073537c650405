"""Private multiplicative weights (PMW): many linear queries for one charge, from a guess until it errs."""
