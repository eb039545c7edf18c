"""What everything else stands on: errors, options, optional packages, small helpers."""
