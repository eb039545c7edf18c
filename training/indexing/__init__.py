"""Building indexes of a collection."""
