"""What one charge pays for beside single questions: batches with one strategy, selections, syntheses."""
