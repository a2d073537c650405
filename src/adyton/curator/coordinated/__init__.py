"""What is released together: batches with one strategy, and what follows from them."""
