"""Collections: reading, splitting, and the texts that are set aside for proofs."""
