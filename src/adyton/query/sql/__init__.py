"""From SQL text to a question: what is not named here is refused."""
