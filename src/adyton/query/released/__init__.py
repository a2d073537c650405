"""What is computed from released values: expressions, the rows of an answer, windows over them."""
