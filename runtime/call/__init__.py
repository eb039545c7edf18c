"""What one call hands to a ranker: the query, candidates, a mask and the time that is left."""
