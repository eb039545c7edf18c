"""One module or package per kind of ranker, with the names of the table in `runtime.kinds`."""
