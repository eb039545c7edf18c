"""Weights of fusions and constants, chosen on judged candidates."""
