"""Tables of vectors that encode queries in place of a network."""
