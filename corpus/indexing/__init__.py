"""Build the indexes of a collection."""
