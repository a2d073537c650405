"""How a token is proved by those who never send it."""
