"""PostgreSQL's protocol, version 3: questions from every program that speaks it, with a token as password."""
