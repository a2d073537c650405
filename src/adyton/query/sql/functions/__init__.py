"""Functions of one row: a table of names for each kind of value, and how each is read."""
