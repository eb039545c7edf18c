"""Choose fusion weights and other constants on judged candidates."""
