"""Load pretrained encoders and pretrain them further."""
