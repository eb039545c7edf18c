"""What cross-encoders are worth: heads, marks, and long documents."""
