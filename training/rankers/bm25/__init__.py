"""Training of BM25."""
