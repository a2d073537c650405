"""What one charge pays for beside single queries: batches with one strategy, selections, syntheses."""
