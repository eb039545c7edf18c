"""What rankers find, and what smaller variants of them lose."""
