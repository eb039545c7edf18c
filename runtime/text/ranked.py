"""A document's title and text as the one text that is ranked."""


def ranked_text(title: str, text: str, titles: bool = True) -> str:
    r"""Return what is ranked of a document: title and text, a line each, or only its text.

    >>> ranked_text("Bread", "Knead it.")
    'Bread\nKnead it.'
    """
    return f"{title}\n{text}" if titles else text


def ranked_part(title: str, text: str, titles: bool = True) -> tuple[str, int]:
    r"""Return what is ranked of a document, and where in title + newline + text that begins.

    >>> ranked_part("Bread", "Knead it."), ranked_part("Bread", "Knead it.", titles=False)
    (('Bread\nKnead it.', 0), ('Knead it.', 6))
    """
    return ranked_text(title, text, titles), 0 if titles else len(title) + 1
