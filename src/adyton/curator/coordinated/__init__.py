"""What one charge pays for beside questions and batches: selections."""
