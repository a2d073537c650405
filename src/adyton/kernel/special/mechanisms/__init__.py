"""The mechanisms of special measurements, and randomized response.  One idea a file."""
