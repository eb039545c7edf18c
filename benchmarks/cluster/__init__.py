"""What a cluster of Ray takes, and what it makes."""
