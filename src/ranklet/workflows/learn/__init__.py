"""Learn the best search of a collection from judgements."""
