"""Dense encoders: their quality, and ways to search their vectors."""
