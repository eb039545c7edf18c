"""One package per kind of ranker, with the names of ranklet.runtime.rankers.

A kind's `train(collection, queries, dev, options)` learns from judged queries and returns a
checkpoint. It chooses among weights and constants on `dev`, which are other judged queries, because
what was learned looks better than it is on the queries that it was learned from.
"""
