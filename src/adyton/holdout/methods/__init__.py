"""The methods of a holdout: each decides what is said of a score, and what it costs."""
