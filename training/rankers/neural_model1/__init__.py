"""Training of the neural Model 1."""
