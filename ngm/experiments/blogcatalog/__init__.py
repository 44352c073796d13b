"""Section 4.1: BlogCatalog."""
