"""Every system from its served bundle, on every collection: one table."""
