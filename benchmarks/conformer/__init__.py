"""Conformer-Kernels, TK, and query logs: what they find, and what impacts lose."""
