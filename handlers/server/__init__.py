"""The HTTP server: connections, requests, threads, metrics, and a bundle that can be replaced."""
