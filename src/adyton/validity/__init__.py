"""What was learned about the population: widths that hold for all answers at once, however asked.

``subset`` is the theorem of Gaussian answers and ``plans`` what follows from it, ``hinge`` that of pure
studies, ``last_look`` what a test on the rows is worth after questions; ``published`` and ``textbook`` are
bounds of the literature, which a planner compares and no answer rests on.
"""
