"""What conducts whole jobs: building, learning, tables of queries, feeds, kept proofs."""
