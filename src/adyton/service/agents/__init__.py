"""What holds for agents in particular: programs that come back as often as they like."""
