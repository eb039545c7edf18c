"""Relations of the papers that processors cannot decide."""
