"""From SQL text to a query: what is not named here is refused."""
