"""Judgements, and what they are made of: marks of a judge, clicks, a query log."""
