"""Online weights: many linear questions for one charge, answered from a public guess until it errs."""
