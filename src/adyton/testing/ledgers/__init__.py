"""What every ledger must do."""
