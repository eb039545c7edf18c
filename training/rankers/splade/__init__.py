"""Training of SPLADE."""
