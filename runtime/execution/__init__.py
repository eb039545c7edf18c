"""Run a pipeline: stage by stage, with fusions, and the reasons for every score."""
