"""Running a pipeline: its stages, candidates, fusion and deadline."""
