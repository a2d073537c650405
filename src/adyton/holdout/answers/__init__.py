"""How an answer of a holdout is paid for, and the two that are no scores: a choice, and the last one."""
