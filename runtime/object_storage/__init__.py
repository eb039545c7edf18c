"""Bundles on object storage, of which only the blocks that a query needs are read."""
