"""What a query is made of: columns, expressions, conditions, measures, groups."""
