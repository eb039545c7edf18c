"""How long it takes to encode, retrieve, rescore and serve."""
