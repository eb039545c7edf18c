"""A bundle on disk: its manifest, its files and its documents; it opens no ranker."""
