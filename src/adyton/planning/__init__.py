"""What a query costs and how wide its answer will be, from public facts: nothing here can reach data."""
