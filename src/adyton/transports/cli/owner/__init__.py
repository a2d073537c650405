"""The commands of whoever owns the data: making, checking, amending and upgrading a study."""
