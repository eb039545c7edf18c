"""What all benchmarks share: places, fresh processes, timing, and pages of results."""
