"""Exact matches between query and document, marked in the text that a cross-encoder reads.

Source: Boualili 2022 (paper 001), chapter 7. Two words match where their Porter stems are equal;
stop words are never marked. Marks are put between word pieces as token ids. The markers of the
precise strategies have ids past the tokenizer's vocabulary: no text can spell one, the tokenizer
stays the backbone's, and documents that were cut into word pieces once serve marked and unmarked
rankers alike. The marker of the simple ones is # of the vocabulary, as in the paper, and a text's
own # cannot be told from it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from ranklet.runtime.text.chunks import Span
from ranklet.runtime.text.lexicon import Lexicon, Word

STRATEGIES = ("none", "sim_doc", "sim_pair", "pre_doc", "pre_pair")
TERMS = 20  # query terms with precise markers of their own; later ones stay unmarked


# The tokens before and after each term that is marked, by its stem, in the query's order.
Marks = dict[str, tuple[int, int]]


class Marker:
    """One strategy of marking.

    Args:
        strategy: none; sim_doc or sim_pair, one token on both sides of every match; pre_doc or
            pre_pair, [e_k] before and [/e_k] after a match of the k-th query term. With doc only
            the document is marked, with pair the matching query terms, too (001, Table 7.2).
        lexicon: of the tokenizer.
        simple: the token of the simple strategies, ``#`` of the vocabulary.
    """

    def __init__(self, strategy: str, lexicon: Lexicon, simple: int) -> None:
        self.strategy, self.lexicon, self._simple = strategy, lexicon, simple
        self._in_query = strategy.endswith("pair")
        self._precise = strategy.startswith("pre")

    @property
    def tokens(self) -> list[int]:
        """The ids of all its markers, ascending."""
        if self.strategy == "none":
            return []
        if not self._precise:
            return [self._simple]
        return list(range(len(self.lexicon), len(self.lexicon) + added_tokens(self.strategy)))

    def around(self, term: int) -> tuple[int, int]:
        """Return the tokens before and after a match of a query term, numbered from 1."""
        if not self._precise:
            return self._simple, self._simple
        opening = len(self.lexicon) + 2 * (term - 1)
        return opening, opening + 1

    def marks(self, query: Sequence[Word], document: Iterable[Word]) -> Marks:
        """Return the marks of the terms that a query and some words of a document share."""
        if self.strategy == "none":
            return {}
        terms, held = query_terms(query), {word.stem for word in document}
        return {
            stem: self.around(term)
            for stem, term in terms.items()
            if stem in held and self._has_marker(term)
        }

    def query(self, pieces: Sequence[int], words: Sequence[Word], marks: Marks) -> list[int]:
        """Return a query with its marks: none but with the strategies of a pair."""
        whole = len(pieces)
        inside = marks if self._in_query else {}
        return inserted(pieces, words, inside, (0, whole), 3 * whole)[0]

    def _has_marker(self, term: int) -> bool:
        return not self._precise or term <= TERMS


def added_tokens(strategy: str) -> int:
    """Return how many tokens a strategy adds to the vocabulary.

    >>> added_tokens("pre_pair"), added_tokens("sim_pair")
    (40, 0)
    """
    return 2 * TERMS if strategy.startswith("pre") else 0


def marker_name(marker: int) -> str:
    """Return the spelling of an added token, numbered from 0.

    >>> marker_name(0), marker_name(3)
    ('[e1]', '[/e2]')
    """
    return f"[{'/' if marker % 2 else ''}e{marker // 2 + 1}]"


def query_terms(words: Sequence[Word]) -> dict[str, int]:
    """Number the terms of a query from 1; a repeated one keeps its first number (001, §7.2.2).

    Stop words have no number. A term has one whether or not a document matches it.
    """
    terms: dict[str, int] = {}
    for word in words:
        if word.stem:
            terms.setdefault(word.stem, len(terms) + 1)
    return terms


def inserted(
    pieces: Sequence[int], words: Sequence[Word], marks: Marks, span: Span, room: int
) -> tuple[list[int], Sequence[int]]:
    """Return the pieces of a span with marks, as many as there is room for.

    A marked word has both marks or is left to what follows; one that the span holds a part of, and
    one too long for all of the room, is cut and not marked.

    Args:
        pieces: of the whole text.
        words: of the whole text; needed only where there are marks.
        marks: of some stems.
        span: of the pieces.
        room: for tokens, marks among them; at least 1.

    Returns:
        The tokens, and which piece of the text each is, −1 for a mark.
    """
    at, end = span
    if not marks:
        end = min(end, at + room)
        return list(pieces[at:end]), range(at, end)
    out: list[int] = []
    places: list[int] = []

    def plain(to: int) -> None:
        to = min(to, at + room - len(out))
        out.extend(pieces[at:to])
        places.extend(range(at, to))

    first = bisect_left(words, at, key=_begin)
    for word in words[first : bisect_left(words, end, first, key=_begin)]:
        if word.stem not in marks or word.end > end:
            continue
        plain(word.begin)
        at = word.begin
        opening, closing = marks[word.stem]
        if len(out) + word.end - at + 2 <= room:
            out += [opening, *pieces[at : word.end], closing]
            places += [-1, *range(at, word.end), -1]
            at = word.end
        elif out:  # what follows is the next chunk's
            return out, places
    plain(end)
    return out, places


def _begin(word: Word) -> int:
    return word.begin
