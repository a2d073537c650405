"""adyton: question data you may not see."""
