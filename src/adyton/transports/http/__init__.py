"""HTTP: the same verbs and the same objects as in process, for whoever holds a token."""
