"""What all benchmarks share: where things are kept, fresh processes, timing, RESULTS.md."""
