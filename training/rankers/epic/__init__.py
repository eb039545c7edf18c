"""Training of EPIC."""
