"""What an answer says about the population, although its query was chosen after seeing earlier answers."""
