"""A test of the rows themselves after queries led to it: what its p-value is worth, by several theorems.

``told`` is what was released, in every measure that a theorem may pay in; ``leakage`` and ``posterior`` are
the theorems, and ``best`` which of them apply and how they share the level of the test.
"""
