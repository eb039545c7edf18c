"""What `ranklet learn` gains."""
