"""Text analysis: the one place where text becomes tokens, for training and serving alike."""
