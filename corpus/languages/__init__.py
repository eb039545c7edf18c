"""What the analysis of a collection knows about languages, while it is indexed."""
