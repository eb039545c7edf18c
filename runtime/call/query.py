"""The query of one call, analysed and encoded once for all rankers.

An index is searched with terms and their weights, or with one vector.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask
from ranklet.runtime.ground.sets import among, distinct
from ranklet.runtime.text.analysis import Analysis, Analyzer, SegmentAnalysis
from ranklet.runtime.text.names import CLASSES

if TYPE_CHECKING:
    from ranklet.runtime.text.synonyms import Match

T = TypeVar("T")


class Side(NamedTuple):
    """A synonym among the tokens of all synonyms of a query."""

    text: str
    weight: float
    words: Sequence[slice]  # the tokens of each word


class Group(NamedTuple):
    """Words of a query and their synonyms among the tokens of all."""

    text: str  # of the query
    own: slice
    sides: Sequence[Side]
    ends: bool = False  # whether the synonyms end with the words, which no document has


class GivenVector(NamedTuple):
    """The vector of a query, which the caller has computed."""

    ranker: str  # for which it is meant
    values: NDArray[np.float32]  # (dimension,)


class SynonymTokens(NamedTuple):
    """The tokens of all words of a query that have synonyms, and of these."""

    tokens: NDArray[np.int32]  # (tokens,)
    groups: Sequence[Group]


class Phrases(Protocol):
    """The phrases of a query, which are looked up in the texts of documents."""

    def fitting(self, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of some documents have the phrases; fewer values if time runs out."""
        ...


class QueryContext:
    """The query of one call, with what has been computed of it so far.

    Args:
        text: what the user asks.
        analysis: the analysis of this call, shared with the caller's own documents.
        added: ids of further words, which no model reads, (words,) int32.
        allowed: the documents that the query allows; None for all.
        corrections: the word that replaces each unknown word.
        phrases: finds out which of the allowed documents have the phrases of the query; None if all
            of them do.
        left_out: descriptions of what of the query there was no time to look up.
        weights: of fields, in place of those that the bundle has; None for none.
        signs: signs of the text that have no meaning here, as typed.

    Attributes:
        synonyms: words of the text for which others may stand.
        find_ends: finds the words of the text with which others end; called if a ranker asks.
    """

    synonyms: "Sequence[Match]" = ()
    find_ends: "Callable[[], Sequence[Match]]" = tuple

    def __init__(
        self,
        text: str,
        analysis: Analysis,
        added: NDArray[np.int32] | None = None,
        allowed: Mask | None = None,
        corrections: Mapping[str, str] | None = None,
        phrases: Phrases | None = None,
        left_out: Sequence[str] = (),
        weights: Mapping[str, float] | None = None,
        signs: Sequence[str] = (),
    ) -> None:
        self.text, self.analysis, self.allowed = text, analysis, allowed
        self.weights, self.signs = weights, tuple(signs)
        self.added, self.corrections = added, dict(corrections or {})
        self.phrases, self.left_out = phrases, tuple(left_out)
        self._fields: dict[str, NDArray[np.int32]] = {}
        self._values: dict[object, Any] = {}
        self._locks: dict[object, Lock] = {}
        self._others: Sequence[QueryContext] = ()

    @property
    def everywhere(self) -> "Sequence[QueryContext]":
        """The query in the words of each part of the collection, of which its own is the first."""
        return (self, *self._others)

    @property
    def vector(self) -> GivenVector | None:
        """The vector that the caller has computed; None for none."""
        found: GivenVector | None = self._values.get(GivenVector)
        return found

    def give(self, vector: GivenVector) -> None:
        """Let a ranker of vectors read this one, in every part of the collection."""
        self._values[GivenVector] = vector

    @property
    def without(self) -> tuple[str, ...]:
        """The rankers that took no part, or not by the vector that was wanted, and why."""
        return tuple(self._values.get("without", ()))

    def remark(self, without: str) -> None:
        """Say that a ranker took no part, and why, once."""
        self._values["without"] = tuple(dict.fromkeys((*self.without, without)))

    def spread(self, others: Sequence[Analyzer]) -> None:
        """Let the query be asked in further parts of the collection, by their words."""
        self._others = [SegmentQuery(self, SegmentAnalysis(each, self.analysis)) for each in others]

    def tokens(self, field: str) -> NDArray[np.int32]:
        """Return the query's token ids in a field, in order with repetitions, (tokens,) int32."""
        if field not in self._fields:
            tokens = self.analysis.asked(self.text, field)
            if self.added is not None and field != "wordpieces":
                known = "lemmas" if field == CLASSES else field  # not what begins like them
                added = distinct(self.analysis.in_field(self.added, known))
                tokens = np.append(tokens, added[~among(added, np.sort(tokens))])
            self._fields[field] = tokens
        return self._fields[field]

    def synonym_tokens(self, field: str) -> SynonymTokens | None:
        """Return the tokens of the words with synonyms, and of these; None without any."""
        every = (*self.synonyms, *self.once("ends", self.find_ends))
        if not every:
            return None
        return self.once((SynonymTokens, field), lambda: self._synonym_tokens(field, every))

    def _synonym_tokens(self, field: str, every: "Sequence[Match]") -> SynonymTokens:
        pieces, end = list[NDArray[np.int32]](), 0

        def placed(tokens: NDArray[np.int32]) -> slice:
            nonlocal end
            pieces.append(tokens)
            end += len(tokens)
            return slice(end - len(tokens), end)

        def spelled(word: str, ends: bool) -> NDArray[np.int32]:
            if not ends or field != CLASSES:
                return self.analysis.word(word, field)
            # What begins like a compound has another end, so its stem counts for both.
            count = len(self.analysis.word(word, field))
            return np.repeat(self.analysis.word(word, "lemmas"), count)

        groups = [
            Group(
                text,
                placed(self.analysis.asked(text, field)),
                [
                    Side(each.text, each.weight, [placed(spelled(w, ends)) for w in each.words])
                    for each in synonyms
                ],
                ends,
            )
            for text, synonyms, ends in every
        ]
        return SynonymTokens(np.concatenate(pieces), groups)

    def list_synonyms(
        self, field: str
    ) -> "list[tuple[NDArray[np.int32], list[NDArray[np.int32]]]]":
        """Return the tokens of words with synonyms, each with those of the synonyms."""
        if (asked := self.synonym_tokens(field)) is None:
            return []
        tokens = asked.tokens
        return [
            (tokens[group.own], [tokens[np.r_[*side.words]] for side in group.sides])
            for group in asked.groups
        ]

    @property
    def reads_words(self) -> bool:
        """Whether a ranker has read the words or lemmas of the text."""
        return bool(self._fields.keys() - {"wordpieces"})

    @property
    def has_unknown(self) -> bool:
        """Whether a ranker has read a word that its part of the collection does not have."""
        return any(
            self.analysis.has_unknown(tokens)
            for field, tokens in self._fields.items()
            if field != "wordpieces"
        )

    def ignored(self, *, alike: bool = False) -> tuple[str, ...]:
        """Return the signs that have no meaning, and the stop words of the text, as typed.

        Stop words are left out only by rankers that have read the text's words or lemmas.

        Args:
            alike: see `Analysis.stopped`.
        """
        if not self.reads_words:
            return self.signs
        stopped = self.analysis.stopped(self.text, alike=alike)
        return tuple(dict.fromkeys((*self.signs, *stopped)))

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return the result of `make`, which is called only once per query and key.

        If another thread is calling it, wait for that thread.
        """
        with self._locks.setdefault(key, Lock()):
            if key not in self._values:
                self._values[key] = make()
        value: T = self._values[key]
        return value


class SegmentQuery(QueryContext):
    """A query in the words of one part of a collection, which has a vocabulary of its own.

    Its tokens stand in the same order as those of the whole query, and what a model has made of
    the query is shared.

    Args:
        whole: the query.
        analysis: the part's.
    """

    def __init__(self, whole: QueryContext, analysis: SegmentAnalysis) -> None:
        super().__init__(whole.text, analysis, weights=whole.weights)
        self.own: SegmentAnalysis = analysis
        self._whole: QueryContext = proxy(whole)  # which has this one, so both would wait for a gc
        self._values, self._locks = whole._values, whole._locks

    @property
    def everywhere(self) -> Sequence[QueryContext]:
        """The query in the words of each part."""
        return self._whole.everywhere

    def tokens(self, field: str) -> NDArray[np.int32]:
        """Return the query's token ids in a field; see `QueryContext.tokens`."""
        if field not in self._fields:
            tokens = self._whole.tokens(field)
            self._fields[field] = tokens if field == "wordpieces" else self.own.renumbered(tokens)
        return self._fields[field]

    def synonym_tokens(self, field: str) -> SynonymTokens | None:
        """Return the tokens of the words with synonyms, as this part numbers them."""
        whole = self._whole.synonym_tokens(field)
        return whole and whole._replace(tokens=self.own.renumbered(whole.tokens))


class SparseQuery(NamedTuple):
    """A query's sparse vector."""

    terms: NDArray[np.int32]  # ascending and unique, (terms,)
    weights: NDArray[np.float32]  # > 0, (terms,)

    @classmethod
    def positive(cls, terms: NDArray[np.integer], weights: NDArray[np.float32]) -> Self:
        """Return the vector of the terms, ascending and unique, whose weights are above 0."""
        positive = weights > 0
        return cls(terms[positive].astype(np.int32), weights[positive])


QueryVector = SparseQuery | NDArray[np.float32]  # terms with weights, or (dimension,) float32
