"""What a person may go on to type, and what may have been meant by words that nobody wrote."""
