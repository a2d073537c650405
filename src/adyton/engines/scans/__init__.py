"""From readings to integers, in as few scans as possible."""
