"""One file a ranker kind; the stems are those of ranklet.runtime.rankers."""
