"""Training: collections in, checkpoint folders out."""
