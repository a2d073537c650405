"""Pages that are not about one study: plan, lab, holdouts, access, documentation."""
