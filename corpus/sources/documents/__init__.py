"""Read the documents that people write and receive: PDF, Office files, books and mail."""
