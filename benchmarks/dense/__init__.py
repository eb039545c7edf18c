"""Dense encoders and what they learn."""
