"""The commands of whoever owns the data: making, checking and amending a study."""
