"""Index, rank and score on several machines by Ray."""
