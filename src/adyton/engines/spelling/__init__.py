"""SQL that means the same on every engine, and what each of them has to spell."""
