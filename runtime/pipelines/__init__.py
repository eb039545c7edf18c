"""A pipeline, stage by stage, what metadata add to its scores, and what these say of relevance."""
