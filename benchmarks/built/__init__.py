"""What several benchmarks measure: trained networks, bundles, and the indexes of peers."""
