"""Pictures of accounting and plans."""
