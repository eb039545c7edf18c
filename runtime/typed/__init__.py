"""Queries with syntax as a person types them, and what they mean in a collection."""
