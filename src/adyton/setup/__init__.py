"""The owner's workshop: making, checking and correcting a study.  It may look at data."""
