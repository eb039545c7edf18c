"""Whether numbers are the expected ones: published ones, and those of another checkout."""
