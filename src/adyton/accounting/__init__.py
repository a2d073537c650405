"""What the ledger's integers add up to: calculators, odometers, and textbook bounds."""
