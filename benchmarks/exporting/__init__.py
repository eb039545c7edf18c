"""How many of the models that sentence-transformers saves can be exported, and by whom."""
