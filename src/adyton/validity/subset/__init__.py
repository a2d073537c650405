"""The subset theorem: what Gaussian answers about these rows say about the population.

Compare the transcript with that of the same analyst served from a random part of the rows, each row kept
with probability c.  Nobody runs that; it is the device of the proof.  The overfit of any query that was
chosen from Gaussian answers is then at most mu0 / 2, as a share of its range, plus the fluctuation of a
query that was fixed in advance; query j pays only for the answers before it.

Units here are those of a sum over all rows: ``span`` is the length of the interval in which one row's part
lies, ``scale`` the standard deviation of the noise, ``spent`` the squared radii of all earlier answers, each
measured in its noise, which is mu0**2 and what every receipt records.
"""
