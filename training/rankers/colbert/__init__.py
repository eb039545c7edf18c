"""Training of ColBERT."""
