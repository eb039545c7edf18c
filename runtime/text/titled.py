"""A document's title and text as the one text that is ranked."""


def titled(title: str, text: str) -> str:
    r"""Return title and text, a line each.

    >>> titled("Bread", "Knead it.")
    'Bread\nKnead it.'
    """
    return f"{title}\n{text}"
