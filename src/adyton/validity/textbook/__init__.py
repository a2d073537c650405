"""Textbook results about samples and stability: on no answer's path."""
