"""Published generalization theorems, for comparison: on no answer's path."""
