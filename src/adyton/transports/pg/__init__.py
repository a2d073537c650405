"""PostgreSQL's protocol, version 3: queries from every program that speaks it, with a token as password."""
