"""Export: checkpoint folders in, bundles out."""
