"""One platform a file; nothing here sees training or export."""
