"""Dense indexes: exact search over a mapped matrix, and HNSW."""
