"""What the audit tries."""
