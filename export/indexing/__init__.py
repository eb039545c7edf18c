"""Index a collection for the rankers of a bundle."""
