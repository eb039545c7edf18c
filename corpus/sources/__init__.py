"""Read documents from the files that people have: tables, JSON, folders of texts, datasets."""
