"""What a plain query does not need: choices, workloads, marginals, monitors, discovered groups."""
