"""What a process costs: its start, and its memory."""
