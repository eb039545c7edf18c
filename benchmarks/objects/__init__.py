"""What bundles on object storage cost: bytes, requests and time."""
