"""Benchmarks of what words have in common, and of rankers over words."""
