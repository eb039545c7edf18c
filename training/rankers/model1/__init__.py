"""Training of IBM Model 1."""
