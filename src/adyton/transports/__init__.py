"""Ways to reach a curator.  A transport knows words and formats, never data."""
