"""What conditions can be, seen without looking at any row."""
