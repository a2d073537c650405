"""What can be done with a study, a holdout or a server, once: every surface is made from these tables."""
