"""Import models that others have trained, as checkpoints that can be exported."""
