"""Metadata: the fields of a document besides id, title and text, and filters by them."""
