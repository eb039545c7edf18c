"""Queries with syntax, as people type them, and what they mean in a collection."""
