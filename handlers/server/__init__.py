"""The HTTP server: requests, workers, metrics, and the bundle that is replaced while it runs."""
