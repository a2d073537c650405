"""What clients read about tables: public facts, as the tables of a PostgreSQL catalog would have them."""
