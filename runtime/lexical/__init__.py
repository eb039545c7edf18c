"""Impact indexes, translation tables and the formulas of the lexical rankers."""
