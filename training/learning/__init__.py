"""What every neural training shares: the loop, its state, losses and options."""
