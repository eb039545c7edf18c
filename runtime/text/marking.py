"""Mark exact matches between query and document in the text that a cross-encoder reads.

Source: Boualili 2022, chapter 7. Two words match if their Porter stems are equal. Stop
words are never marked. Markers are token ids, inserted between word pieces. Precise strategies use
ids past the tokenizer's vocabulary. So no text can spell a marker, the tokenizer stays the
backbone's, and the stored word pieces of documents serve marked and unmarked rankers alike. Simple
strategies use # of the vocabulary, as in the paper, so a text's own # looks the same as a marker.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from ranklet.runtime.text.chunks import Span
from ranklet.runtime.text.lexicon import Lexicon, Word

STRATEGIES = ("none", "sim_doc", "sim_pair", "pre_doc", "pre_pair")
TERMS = 20  # number of query terms that get precise markers; later terms stay unmarked

# The tokens before and after each marked term, by the term's stem, in the query's order.
Marks = dict[str, tuple[int, int]]


class Marker:
    """One marking strategy.

    Args:
        strategy: ``none`` marks nothing. ``sim_doc`` and ``sim_pair`` put one token on both sides
            of every match. ``pre_doc`` and ``pre_pair`` put [e_k] before and [/e_k] after a match
            of the k-th query term. The ``doc`` strategies mark only the document, the ``pair``
            strategies also the matching query terms (Boualili, Table 7.2).
        lexicon: the words of the tokenizer's pieces.
        simple: the token id of the simple strategies, ``#`` of the vocabulary.
    """

    def __init__(self, strategy: str, lexicon: Lexicon, simple: int) -> None:
        self.strategy, self.lexicon, self._simple = strategy, lexicon, simple
        self._in_query = strategy.endswith("pair")
        self._precise = strategy.startswith("pre")

    @property
    def tokens(self) -> list[int]:
        """The ids of all markers of this strategy, ascending."""
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
        """Return the markers of the query terms that occur among the document's words."""
        if self.strategy == "none":
            return {}
        terms, document_stems = query_terms(query), {word.stem for word in document}
        return {
            stem: self.around(term)
            for stem, term in terms.items()
            if stem in document_stems and self._has_marker(term)
        }

    def query(self, pieces: Sequence[int], words: Sequence[Word], marks: Marks) -> list[int]:
        """Return a query's pieces with its markers, which only the ``pair`` strategies insert."""
        length = len(pieces)
        query_marks = marks if self._in_query else {}
        return insert_marks(pieces, words, query_marks, (0, length), 3 * length)[0]

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
    """Number a query's terms from 1; a repeated term keeps its first number (Boualili, §7.2.2).

    Stop words have no number. A term has its number whether or not a document matches it.
    """
    terms: dict[str, int] = {}
    for word in words:
        if word.stem:
            terms.setdefault(word.stem, len(terms) + 1)
    return terms


def insert_marks(
    pieces: Sequence[int], words: Sequence[Word], marks: Marks, span: Span, room: int
) -> tuple[list[int], Sequence[int]]:
    """Return the pieces of a span with markers, as many as there is room for.

    A marked word keeps both markers or moves to the next chunk. A word that crosses the span's end,
    or is longer than the room, is truncated and not marked.

    Args:
        pieces: all pieces of the text.
        words: all words of the text, needed only if there are marks.
        marks: the markers by stem.
        span: the pieces to return.
        room: maximum number of tokens, markers included, at least 1.

    Returns:
        The tokens, and for each token the index of its piece in the text, −1 for a marker.
    """
    reached, end = span
    if not marks:
        end = min(end, reached + room)
        return list(pieces[reached:end]), range(reached, end)
    out: list[int] = []
    places: list[int] = []

    def plain(to: int) -> None:
        to = min(to, reached + room - len(out))
        out.extend(pieces[reached:to])
        places.extend(range(reached, to))

    first = bisect_left(words, reached, key=_begin)
    for word in words[first : bisect_left(words, end, first, key=_begin)]:
        if word.stem not in marks or word.end > end:
            continue
        plain(word.begin)
        reached = word.begin
        opening, closing = marks[word.stem]
        if len(out) + word.end - reached + 2 <= room:
            out += [opening, *pieces[reached : word.end], closing]
            places += [-1, *range(reached, word.end), -1]
            reached = word.end
        elif out:  # the rest belongs to the next chunk
            return out, places
    plain(end)
    return out, places


def _begin(word: Word) -> int:
    return word.begin
