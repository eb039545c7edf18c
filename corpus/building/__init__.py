"""Write bundles with a collection: documents, words and every ranker's index."""
