"""Training of TK."""
