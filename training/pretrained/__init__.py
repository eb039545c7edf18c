"""Pretrained encoders, and further pretraining of them."""
