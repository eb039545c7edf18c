"""What a process costs: its start, its memory, and building and updating bundles."""
