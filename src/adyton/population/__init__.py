"""What an answer says about the population, although its question was chosen after seeing earlier answers."""
