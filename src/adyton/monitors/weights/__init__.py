"""Online weights: many linear queries for one charge, answered from a public guess until it errs."""
