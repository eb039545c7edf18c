"""The report of a training, one HTML page in its checkpoint folder that loads nothing else."""
