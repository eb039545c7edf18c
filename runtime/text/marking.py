"""Exact matches between query and document, marked in the text that a cross-encoder reads.

Source: Boualili 2022 (paper 001), chapter 7. Two words match where their Porter stems are equal;
stop words are never marked. Marks are put between word pieces as token ids, so that a text which
happens to spell a marker cannot pass for one. The markers of the precise strategies have ids past
the tokenizer's vocabulary: the tokenizer stays the backbone's, and documents that were cut into
word pieces once serve marked and unmarked rankers alike.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ranklet.runtime.text.lexicon import Lexicon, Word

STRATEGIES = ("none", "sim_doc", "sim_pair", "pre_doc", "pre_pair")
TERMS = 20  # query terms with precise markers of their own; later ones stay unmarked


class Marked(NamedTuple):
    """A query and chunks of a document, with their marks."""

    query: list[int]
    chunks: list[list[int]]
    stems: list[str]  # that both share, in the query's order; none where nothing is marked


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

    def mark(self, query: Sequence[int], chunks: Sequence[Sequence[int]]) -> Marked:
        """Mark the matches between a query and some chunks of one document.

        A query term is marked where any of the chunks has it.

        Args:
            query: word pieces.
            chunks: word pieces, of each.
        """
        if self.strategy == "none":
            return Marked(list(query), [list(each) for each in chunks], [])
        asked = self.lexicon.words(query)
        terms = query_terms(asked)
        held = [self.lexicon.words(chunk) for chunk in chunks]
        shared = {word.stem for words in held for word in words} & terms.keys()
        stems = [each for each in terms if each in shared]
        marks = {stem: self.around(terms[stem]) for stem in stems if self._has_marker(terms[stem])}
        return Marked(
            inserted(query, asked, marks if self._in_query else {}),
            [inserted(pieces, words, marks) for pieces, words in zip(chunks, held, strict=True)],
            stems,
        )

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
    pieces: Sequence[int], words: Sequence[Word], marks: Mapping[str, tuple[int, int]]
) -> list[int]:
    """Return the pieces of a text with marks around the words of some stems."""
    out: list[int] = []
    for word in words:
        inside = pieces[word.begin : word.end]
        mark = marks.get(word.stem)
        out += inside if mark is None else [mark[0], *inside, mark[1]]
    return out
