"""What reading all of a long document is worth to a cross-encoder."""
