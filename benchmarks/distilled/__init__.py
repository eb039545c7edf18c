"""What rankers gain by learning from a cross-encoder."""
