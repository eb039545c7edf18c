"""Load the pretrained encoders that rankers begin with."""
