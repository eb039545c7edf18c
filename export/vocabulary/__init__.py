"""Cut the tokens of a model to those of some texts."""
