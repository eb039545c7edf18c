"""Text analysis, the one place where text becomes tokens for both training and serving."""
