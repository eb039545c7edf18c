"""A document's title and text as the one text that is ranked."""


def ranked_text(title: str, text: str, titles: bool = True) -> str:
    r"""Return what is ranked of a document: title and text, a line each, or only its text.

    >>> ranked_text("Bread", "Knead it.")
    'Bread\nKnead it.'
    """
    return f"{title}\n{text}" if titles else text


def ranked_begin(title: str, titles: bool = True) -> int:
    r"""Return where in title + newline + text that begins which is ranked.

    >>> ranked_begin("Bread"), ranked_begin("Bread", titles=False)
    (0, 6)
    """
    return 0 if titles else len(title) + 1
