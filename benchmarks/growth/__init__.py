"""How time, memory and disk grow with documents, candidates and lengths."""
