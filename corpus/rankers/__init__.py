"""What the index of each kind of ranker is made of, a module or package per kind."""
