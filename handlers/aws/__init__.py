"""AWS Lambda: events, queues, logs, and bundles from S3."""
