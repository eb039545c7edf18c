"""Benchmarks of late interaction: speed end to end, and stored vectors."""
