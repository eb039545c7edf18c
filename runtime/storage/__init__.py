"""A bundle on disk: its archive, manifest, arrays and documents."""
