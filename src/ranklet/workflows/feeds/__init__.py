"""Files that load a bundle's collection into another search engine."""
