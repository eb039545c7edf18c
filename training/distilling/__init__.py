"""What students learn from a cross-encoder: its scores, and the margins between them."""
