"""What neural trainings learn from: candidates, negatives, and batches of rows."""
