"""Light contextualisation: static sub-embeddings and local context in place of an encoder."""
