"""Add documents to bundles, delete some, and join bundles, without encoding anything twice."""
