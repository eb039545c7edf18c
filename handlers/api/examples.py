"""Choose queries to begin with, because a collection has no queries of its own."""

from collections.abc import Iterable

EXAMPLES = 6
SAMPLES = 60  # texts that are looked through for them
LONGEST = 50  # characters of an example
_QUESTION = ("?", "？", "؟")


def example_queries(texts: Iterable[str]) -> list[str]:
    """Return the titles, or first words of texts, that are most like what people ask.

    Questions come first, then what has several words, and nothing is longer than `LONGEST`.

    >>> example_queries(["abc", "How do I knead?", "Slow bread of rye"])
    ['How do I knead?', 'Slow bread of rye', 'abc']
    """
    found = dict.fromkeys(_shortened(" ".join(text.split())) for text in texts)

    def unlike(text: str) -> tuple[bool, bool]:
        return not text.endswith(_QUESTION), len(text.split()) < 3

    return sorted(filter(None, found), key=unlike)[:EXAMPLES]


def _shortened(text: str) -> str:
    """Return a text without the words that make it too long."""
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST].rpartition(" ")[0] or text[:LONGEST]
