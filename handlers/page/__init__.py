"""Explanations as one HTML page, for `ranklet explain --html`."""
