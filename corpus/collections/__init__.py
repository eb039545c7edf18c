"""Collections, their splits, and the texts that are set aside for proofs."""
