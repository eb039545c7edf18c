"""Proofs: every variant of a graph is compared with PyTorch before it is written."""
