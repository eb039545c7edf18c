"""Join a document's title and text into the one text that is ranked."""

from collections.abc import Sequence
from typing import Protocol


def ranked_text(title: str, text: str, titles: bool = True) -> str:
    r"""Return the text to rank: title and text on lines of their own, or the text only.

    Without a title there is no empty line, because some tokenizers have a token for it.

    >>> ranked_text("Bread", "Knead it."), ranked_text("", "Knead it.")
    ('Bread\nKnead it.', 'Knead it.')
    """
    return f"{title}\n{text}" if titles and title else text


def count_ranked_bytes(title: bytes, text: bytes, titles: bool = True) -> bytes:
    """Return the UTF-8 of `ranked_text`."""
    return b"%b\n%b" % (title, text) if titles and title else text


def cut_ranked_part(title: str, text: str, titles: bool = True) -> tuple[str, int]:
    r"""Return the text to rank and its offset within title + newline + text.

    >>> cut_ranked_part("Bread", "Knead it."), cut_ranked_part("Bread", "Knead it.", titles=False)
    (('Bread\nKnead it.', 0), ('Knead it.', 6))
    """
    return ranked_text(title, text, titles), 0 if titles and title else len(title) + 1


class Texts(Protocol):
    """Texts by number."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, number: int, /) -> str:
        """Return one."""


class RankedTexts(Sequence[str]):
    """The ranked texts of documents, made of their titles and texts when they are read."""

    def __init__(self, titles: Texts, texts: Texts, titled: bool) -> None:
        self._titles, self._texts, self._titled = titles, texts, titled

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: int) -> str:  # type: ignore[override]  # no slices
        if number >= len(self):
            raise IndexError(number)
        return ranked_text(self._titles[number], self._texts[number], self._titled)
