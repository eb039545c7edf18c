"""What a search without judgements is worth: the default fusion against others, and peers."""
