"""Answer requests with a bundle: a file here per platform, shared parts in folders."""
