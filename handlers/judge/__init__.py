"""The page on which a person judges the hits of queries."""
