"""The explanation of a hit as one HTML page."""
