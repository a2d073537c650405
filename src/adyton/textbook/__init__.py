"""Mechanisms of the literature that no study uses, for the auditor and the lab."""
