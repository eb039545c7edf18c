"""AWS Lambda: events, queues, logs, and the bundle that is downloaded from S3."""
