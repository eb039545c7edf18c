"""Training of dense encoders."""
