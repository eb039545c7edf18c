"""Measures, systems that are measured, and tests of significance."""
