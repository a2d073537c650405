"""The web pages of a server: rendered here, forms that work without a script, nothing from elsewhere."""
