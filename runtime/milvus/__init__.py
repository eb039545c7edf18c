"""Collections that another system stores, ranked and explained by a bundle's models."""
