"""Training of RepBERT."""
