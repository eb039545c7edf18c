"""What is said of a hit: explanations, snippets, contexts, and how they are shown."""
