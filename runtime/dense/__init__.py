"""Dense indexes, by exact search over a mapped matrix or by HNSW."""
