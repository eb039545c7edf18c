"""Training of the Conformer-Kernel."""
