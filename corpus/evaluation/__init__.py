"""Ranking measures, the evaluation of systems, and tests of significance."""
