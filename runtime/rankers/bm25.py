"""BM25, which ranks a collection by an impact index and also scores other texts.

With fields, such as the column of authors, it is BM25F: a word of a document has one posting, to
which each field adds by its weight.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.candidates import Candidates, TextCandidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import AT_ONCE, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import Group, QueryContext, SparseQuery, SynonymTokens
from ranklet.runtime.call.topk import Scored
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.ground.options import check_number, number, one_of
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.kinds import Settings
from ranklet.runtime.lexical.bm25 import boosted, field_amount, idf, saturate_sum, saturation
from ranklet.runtime.lexical.field_index import TEXT, TITLE, FieldIndex, Formula
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex
from ranklet.runtime.text.names import CLASSES, FIELDS, MARK

if TYPE_CHECKING:
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.lexical.synonyms import Gain

# The files of the kind in rankers/NAME/, in addition to the impact index, whose impacts are
# idf · saturation. All cover the indexed collection.
STATISTICS = "statistics.npy"  # mean number of tokens per document, (1,) float64
MOST_WEIGHT = 100.0  # of a field


@dataclass(frozen=True)
class BM25Settings(Settings):
    """The settings of a BM25 ranker.

    Attributes:
        fields: the weights of columns, or of the title, which are searched as fields of their own,
            where the text counts 1; None for none. A title that is none is a part of the text.
    """

    field: str = one_of("lemmas", FIELDS, "terms of a text")
    k1: float = number(0.9, "how slowly repetitions of a term saturate", 0, 100)
    b: float = number(0.4, "strength of the length normalisation", 0, 1)
    title_boost: float = number(1.0, "how often each word of a title counts", 1, 100)
    impacts: str = one_of("uint8", tuple(IMPACT_TYPES), "type of stored impacts")
    fields: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_fields()
        if self.title_boost != 1 and self.field == "wordpieces":
            raise InputError(
                f"title_boost is {self.title_boost:g}, and field is wordpieces; words of titles "
                "can count more with field words or lemmas, otherwise leave title_boost at 1"
            )

    def _check_fields(self) -> None:
        if self.fields is None:
            return
        check_weights(self.fields)
        if not self.fields or TEXT in self.fields or 0 in self.fields.values():
            raise InputError(
                "fields are the weights of columns above 0, such as author=1 (--field author), "
                "where the text counts 1"
            )
        if self.field == "wordpieces":
            raise InputError("fields have words or lemmas, but field is wordpieces")
        if self.title_boost != 1 and TITLE in self.fields:
            raise InputError(
                "the title is a field of its own weight (--field title), so leave title_boost out"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are searched as fields."""
        return tuple(name for name in self.fields or () if name != TITLE)

    @property
    def formula(self) -> Formula:
        """How the amounts of fields become an impact."""
        return Formula({TEXT: 1.0, **(self.fields or {})}, self.k1, self.b)

    @property
    def terms(self) -> str:
        """The terms that are counted: of lemmas, the beginnings of words, too."""
        return CLASSES if self.field == "lemmas" else self.field

    def check_titles(self, titles: bool) -> None:
        """Raise InputError if titles are not ranked but count more than once."""
        if self.title_boost != 1 and not titles:
            raise InputError(
                f"title_boost is {self.title_boost:g}, but titles are not ranked; rank them, or "
                "leave title_boost at 1"
            )
        if TITLE in (self.fields or ()) and not titles:
            raise InputError("the title is a field, but titles are not ranked; rank them")


def check_weights(weights: object) -> None:
    """Raise InputError unless something is a mapping of fields to weights from 0."""
    if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
        raise InputError(f'fields is {weights!r:.60}; give weights such as {{"author": 2}}')
    for name, weight in weights.items():
        check_number(f"the weight of the field {name!r:.60}", weight, 0, MOST_WEIGHT)


class Terms(NamedTuple):
    """The distinct terms of a query."""

    ids: NDArray[np.int32]  # ascending in the whole collection, (terms,)
    counts: NDArray[np.float32]  # how often each stands there, (terms,)
    at: NDArray[np.intp]  # the place of each among the query's tokens, (terms,)


class _Rarity(NamedTuple):
    """How rare the tokens of a query are in all parts of a collection."""

    idf: NDArray[np.float32]  # (tokens,)
    factors: NDArray[np.float32]  # make a part's impacts those of the whole, (parts, tokens)


_NAMES = {"lemmas": "words", "words": "forms of words", "wordpieces": "word pieces"}  # of fields
_NO_FACTORS = np.empty((0, 0), np.float32)  # of the only part


class BM25(Retriever):
    """Okapi BM25 in Lucene's variant (see `ranklet.runtime.lexical.bm25`).

    Args:
        settings: the field, and how frequencies count.
        index: the impacts.
        average_length: mean number of tokens per document.
        name: its name in a bundle.
        everywhere: the impacts of every part of the collection; None if `index` has all documents.
        part: which of them `index` is.
    """

    slice_size = AT_ONCE

    def __init__(
        self,
        settings: BM25Settings,
        index: ImpactIndex,
        average_length: float,
        name: str = "",
        everywhere: Sequence[ImpactIndex] | None = None,
        part: int = 0,
    ) -> None:
        self.settings, self.index, self.average_length = settings, index, average_length
        self._name, self._everywhere, self._part = name, everywhere or [index], part

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "BM25":
        """Open the ranker `name` of a bundle."""
        bundle.need_collection()
        settings: BM25Settings = bundle.settings(name)
        if not bundle.manifest.titles and (
            settings.title_boost != 1 or TITLE in (settings.fields or ())
        ):
            raise BundleError(f"{name}: words of titles are boosted, but titles are not ranked")
        index, statistics = _open_index(bundle, name), f"rankers/{name}/{STATISTICS}"
        average = float(bundle.array(statistics, np.float64, (1,))[0])
        if not 0 <= average < float("inf"):
            raise BundleError(f"{statistics}: the average document length is {average}")
        return cls(settings, index, average, name)

    def over(self, parts: "Sequence[BundleFiles]") -> "list[BM25]":
        """Return the ranker over each of some parts of a collection, which share their idf."""
        name, average = self._name, self.average_length
        averages = self.index.averages if isinstance(self.index, FieldIndex) else None
        others = (_open_index(part, name, averages) for part in parts[1:])
        indexes = [self.index, *others]
        return [
            BM25(self.settings, index, average, name, indexes, part)
            for part, index in enumerate(indexes)
        ]

    @property
    def nested(self) -> bool:
        """Whether its k best documents are always the first k of a longer list."""
        return True

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k best documents of the collection, or of those that a mask allows."""
        terms, counts, at = self._terms(query)
        weights = counts * self._factors(query)[at] if len(self._everywhere) > 1 else counts
        more, sums = self._score_synonyms(query), self._sums(query)
        return Retrieved(*self._index(query).retrieve(terms, weights, k, allowed, more, sums))

    def matching(self, query: QueryContext) -> Mask:
        """Return which documents have a word of the query or a synonym, (documents,) bool.

        The beginning of a word counts if no document has the word, and none ends with it.
        """
        tokens = query.tokens(self.settings.terms)
        others = [each + 1 for each in self._stem_places(query) if self._is_had(query, each)]
        mask = self._index(query).matching(distinct(np.delete(tokens, others)))
        if (more := self._score_synonyms(query)) is not None:
            mask[more[0]] = True
        return mask

    def _stem_places(self, query: QueryContext) -> range:
        """Return the places among the tokens of the stems that beginnings follow."""
        terms, stems = query.tokens(self.settings.terms), query.tokens(self.settings.field)
        return range(0, 2 * (len(terms) - len(stems)), 2)

    def _is_had(self, query: QueryContext, place: int) -> bool:
        """Return whether a document has a token of the query, or a word that ends with it."""
        terms = self.settings.terms
        asked, token = query.synonym_tokens(terms), query.tokens(terms)[place]
        ends = [each.own for each in asked.groups if each.ends] if asked else []
        if asked and any(token in asked.tokens[own] for own in ends):
            return True
        every = zip(self._everywhere, query.everywhere, strict=True)
        return any(index.frequencies(own.tokens(terms)[[place]])[0] > 0 for index, own in every)

    def query_vector(self, query: QueryContext) -> SparseQuery:
        """Return the query's terms and how often each stands there."""
        return SparseQuery(*self._terms(query)[:2])

    def document_vectors(self) -> Iterator[SparseQuery]:
        """Yield the terms of each document and their impacts."""
        return self.index.by_document()

    def postings(self) -> ImpactIndex:
        """Return the index, which has every term of every document."""
        return self.index

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return Σ idf · saturation over the query's tokens, with repetitions."""
        if candidates.stored is not None and (sums := self._sums(query)):
            return Scores(sums[0][candidates.stored])
        terms = self._terms(query)
        # In float64, rounding cannot make a document's score depend on the other documents.
        weights = terms.counts.astype(np.float64)
        found = weights @ self._impacts(query, terms, candidates)
        for _, added in self._gains(query, candidates):
            found += added.amounts
        return Scores(found.astype(np.float32))

    def scale(self, query: QueryContext) -> float:
        """Return 1 / Σ idf over the query's tokens (Boytsov & Kolter, §4.1)."""
        _, counts, at = self._terms(query)
        total = float(counts @ self._rarity(query).idf[at]) if len(at) else 0.0
        return 1 / total if total > 0 else 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> "Explanation":
        """Explain a score by query term, and by field if there are some."""
        from ranklet.runtime.answers.explanation import Explanation  # few calls explain

        terms, stems = self._terms(query), self._stem_places(query)
        field, index = self.settings.field, self._index(query)
        found: dict[int, list[Explanation]] = {}  # by the place of the word
        if not isinstance(index, FieldIndex):  # a few of a long query's
            there = np.isin(terms.ids, candidate.tokens(self.settings.terms).tokens)
            terms = Terms(terms.ids[there], terms.counts[there], terms.at[there])
        else:
            index.fetch_fields(terms.ids)
        impacts = self._impacts(query, terms, candidate)[:, 0]
        every = zip(terms.ids.tolist(), terms.counts, terms.at.tolist(), impacts, strict=True)
        for term, count, at, impact in every:
            if impact > 0:
                own = found.setdefault(at - at % 2 if at < stems.stop else at, [])
                name = query.analysis.name(term, field)
                token = (field, name)  # both the query's and the document's token
                value = float(count * impact)
                if isinstance(index, FieldIndex):
                    amounts = self._amounts_in(index, term, candidate)
                    own.append(_by_field(name, value, token, amounts))
                else:
                    own.append(Explanation(name, value, source=token, query_token=token))
        words = query.analysis.asked(query.text, "words")
        typed = dict(zip(stems, query.analysis.spelled(words), strict=False)) if stems else {}
        parts = [_by_word(typed.get(at, ""), own) for at, own in found.items()]
        parts += self._explained_gains(query, candidate)
        label, boost = f"BM25 over {_NAMES[field]}", self.settings.title_boost
        if boost != 1:
            label += f", where words of titles count {boost:g} times"
        return Explanation.total(label, parts)

    def verify(self) -> None:
        """Check every posting; raise BundleError at the first fault."""
        self.index.verify(f"BM25 over {self.settings.field}")

    def _sums(self, query: QueryContext) -> list[NDArray[np.float32]]:
        """Return the scores of all documents, (documents,), if a retrieval has added them up."""
        return query.once((self, "sums"), list)

    def _score_synonyms(self, query: QueryContext) -> Scored | None:
        """Return the documents to which synonyms add something, ascending, and how much."""
        if (asked := query.synonym_tokens(self.settings.terms)) is None:
            return None
        index = self._index(query)
        index.fetch(asked.tokens)
        # A document with a synonym has the first of its words.
        first = [side.words[0] for group in asked.groups for side in group.sides]
        tokens = distinct(np.concatenate([asked.tokens[word] for word in first]))
        having = [index.postings(token)[0] for token in tokens.tolist()]
        documents = distinct(np.concatenate(having)).astype(np.uint32)
        impacts = self._stored(query, _every(asked.tokens), documents, synonyms=True)
        every = [each.amounts for _, each in self._gains_of(query, asked, impacts)]
        amounts: NDArray[np.float32] = np.array(every).sum(0, np.float32)
        return documents[amounts > 0], amounts[amounts > 0]

    def _gains(self, query: QueryContext, candidates: Candidates) -> "list[tuple[Group, Gain]]":
        """Return what the synonyms of each group add to each candidate."""
        if (asked := query.synonym_tokens(self.settings.terms)) is None:
            return []
        impacts = self._impacts(query, _every(asked.tokens), candidates, synonyms=True)
        return self._gains_of(query, asked, impacts)

    def _gains_of(
        self, query: QueryContext, asked: SynonymTokens, impacts: NDArray[np.float32]
    ) -> "list[tuple[Group, Gain]]":
        from ranklet.runtime.lexical.synonyms import gain  # few queries have synonyms

        rarity = self._rarity(query, synonyms=True).idf
        return [(group, gain(group, impacts, rarity)) for group in asked.groups]

    def _explained_gains(self, query: QueryContext, candidate: Candidates) -> "list[Explanation]":
        """Return what synonyms add to a score, the amount of each shared by its words."""
        if (asked := query.synonym_tokens(self.settings.terms)) is None:
            return []
        found, field = [], self.settings.field
        for group, added in self._gains(query, candidate):
            side, amount = group.sides[int(added.sides[0])], float(added.amounts[0])
            tokens = [int(asked.tokens[word.start]) for word in side.words]
            names = [query.analysis.name(token, field) for token in tokens]
            if amount > 0:
                found.append(_by_synonym(side.text, group, field, names, amount))
        return found

    def _index(self, query: QueryContext) -> ImpactIndex:
        """Return the impacts by the weights that the query gives to fields, if it gives any."""
        index = self.index
        return index.weighed(query.weights) if isinstance(index, FieldIndex) else index

    def _terms(self, query: QueryContext) -> "Terms":
        field, whole = self.settings.terms, query.everywhere[0]

        def make() -> Terms:
            places: dict[int, list[int]] = {}  # of each term among the tokens
            for at, token in enumerate(whole.tokens(field).tolist()):
                places.setdefault(token, []).append(at)
            every = sorted(places.items())
            return Terms(
                np.array([term for term, _ in every], np.int32),
                np.array([len(own) for _, own in every], np.float32),
                np.array([own[0] for _, own in every], np.intp),
            )

        terms = query.once((Terms, field), make)
        return terms if query is whole else terms._replace(ids=query.tokens(field)[terms.at])

    def _rarity(self, query: QueryContext, *, synonyms: bool = False) -> "_Rarity":
        """Return how rare a query's tokens are, or those of synonyms, found out once for all parts.

        A token that is nowhere counts as the rarest.
        """

        def make() -> _Rarity:
            field, sizes = self.settings.terms, [index.size for index in self._everywhere]
            every = zip(self._everywhere, query.everywhere, strict=True)
            each = [index.frequencies(_read_query(own, field, synonyms)) for index, own in every]
            if len(each) == 1:
                return _Rarity(idf(each[0], sizes[0]), _NO_FACTORS)
            counts = np.array(each)
            whole = idf(counts.sum(0), sum(sizes))
            factors: NDArray[np.float32] = np.divide(whole, idf(counts, np.array(sizes)[:, None]))
            return _Rarity(whole, factors)

        return query.once((self._everywhere[0], synonyms), make)

    def _factors(self, query: QueryContext, *, synonyms: bool = False) -> NDArray[np.float32]:
        """Return what makes impacts of this part those of the whole, by token, (tokens,)."""
        rarity = self._rarity(query, synonyms=synonyms)
        factors: NDArray[np.float32] = rarity.factors[self._part]
        return factors

    def _stored(
        self, query: QueryContext, terms: "Terms", documents: NDArray[np.uint32], *, synonyms: bool
    ) -> NDArray[np.float32]:
        """Return the impact of each term on stored documents, (terms, documents) float32."""
        impacts = self._index(query).matrix(terms.ids, documents)
        if len(self._everywhere) > 1:
            impacts *= self._factors(query, synonyms=synonyms)[terms.at, None]
        return impacts

    def _impacts(
        self, query: QueryContext, terms: "Terms", candidates: Candidates, *, synonyms: bool = False
    ) -> NDArray[np.float32]:
        """Return the impact of each term on each candidate, (terms, candidates) float32.

        The terms are those of the query, or of synonyms.
        """
        if candidates.stored is not None:
            return self._stored(query, terms, candidates.stored, synonyms=synonyms)
        index = self._index(query)
        rarity = self._rarity(query, synonyms=synonyms).idf[terms.at, None]
        if isinstance(index, FieldIndex):
            weights, k1, _ = index.formula
            amounts = self._amounts(index, terms.ids, candidates)
            return index.rounded(rarity * saturate_sum(amounts, weights.values(), k1), terms.ids)
        tf, lengths = self._counts(terms.ids, candidates)
        settings = self.settings
        weight = saturation(tf, lengths, self.average_length, settings.k1, settings.b)
        return index.rounded(rarity * weight, terms.ids)

    def _counts(
        self, terms: NDArray[np.int32], candidates: TextCandidates
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return how often the caller's texts have terms, and their lengths, (1, candidates)."""
        settings = self.settings
        documents = candidates.tokens(settings.terms)
        tf = documents.frequencies(terms)
        lengths: NDArray[np.float32] = documents.lengths[None, :].astype(np.float32)
        boost = 0.0 if TITLE in (settings.fields or ()) else settings.title_boost
        if boost != 1:
            titles = candidates.title_tokens(settings.terms)
            tf = boosted(tf, titles.frequencies(terms), boost)
            lengths = boosted(lengths, titles.lengths[None, :], boost)
        return tf, lengths

    def _amounts(
        self, index: FieldIndex, terms: NDArray[np.int32], candidates: TextCandidates
    ) -> list[NDArray[np.float32]]:
        """Return the amount of each field in the caller's texts, which have no columns."""
        tf, lengths = self._counts(terms, candidates)
        found = [field_amount(tf, lengths, self.average_length, index.formula.b)]
        for name, average in zip(self.settings.fields or (), index.averages, strict=True):
            amount = np.zeros_like(tf)
            if name == TITLE:
                titles = candidates.title_tokens(self.settings.terms)
                own, length = titles.frequencies(terms), titles.lengths[None, :]
                amount = field_amount(own, length, average, index.formula.b)
            found.append(amount)
        return found

    def _amounts_in(self, index: FieldIndex, term: int, candidate: Candidates) -> dict[str, float]:
        """Return what each field adds to a term before it saturates."""
        if candidate.stored is not None:
            amounts = index.amounts_in(term, int(candidate.stored[0]))
        else:
            ids = np.array([term], np.int32)
            amounts = [float(each[0, 0]) for each in self._amounts(index, ids, candidate)]
        weights = index.formula.weights.items()
        return {name: weight * each for (name, weight), each in zip(weights, amounts, strict=True)}


def _read_query(query: QueryContext, field: str, synonyms: bool) -> NDArray[np.int32]:
    """Return the tokens of a query, or of its synonyms, (tokens,)."""
    if not synonyms:
        return query.tokens(field)
    found = query.synonym_tokens(field)
    return np.empty(0, np.int32) if found is None else found.tokens


def _every(tokens: NDArray[np.int32]) -> Terms:
    """Return tokens as terms, each of which stands there once."""
    return Terms(tokens, np.ones(len(tokens), np.float32), np.arange(len(tokens)))


def _by_word(typed: str, parts: "Sequence[Explanation]") -> "Explanation":
    """Return what a word adds to a score, with what its beginning adds."""
    from ranklet.runtime.answers.explanation import Explanation

    first, *others = sorted(parts, key=lambda part: part.label.endswith(MARK))
    if others:
        own = [replace(first, label="word"), *(replace(e, label="beginning") for e in others)]
        return Explanation.total(first.label, own)
    is_beginning = first.label.endswith(MARK)
    return replace(first, label=f"{typed}, by its beginning") if is_beginning else first


def _by_synonym(
    synonym: str, group: Group, field: str, names: Sequence[str], amount: float
) -> "Explanation":
    """Return what a synonym adds to a score, shared by its words."""
    from ranklet.runtime.answers.explanation import Explanation

    how, share = "which ends with" if group.ends else "synonym of", amount / len(names)
    label = f"{synonym}, {how} {group.text}"
    parts = tuple(Explanation(name, share, source=(field, name)) for name in names)
    if len(parts) == 1:
        return Explanation(label, amount, source=parts[0].source)
    return Explanation(label, amount, parts)


def _by_field(
    name: str, value: float, token: tuple[str, str], amounts: Mapping[str, float]
) -> "Explanation":
    """Return what a term adds to a score, shared among the fields as they add to its frequency.

    Only the title and the text have marks, because nothing else is shown as text.
    """
    from ranklet.runtime.answers.explanation import Explanation

    total, parts = sum(amounts.values()), []
    for field, amount in amounts.items():
        if amount > 0:
            source = token if field in (TEXT, TITLE) else None
            parts.append(Explanation(f"in {field}", value * amount / total, source=source))
    ordered = tuple(sorted(parts, key=lambda part: -part.value))
    return Explanation(name, value, ordered, query_token=token)


def _open_index(
    bundle: "BundleFiles", name: str, averages: Sequence[float] | None = None
) -> ImpactIndex:
    """Open the index of a bundle.

    Args:
        bundle: the bundle.
        name: the ranker's.
        averages: the mean lengths of fields that are meant; None for the bundle's own.
    """
    settings: BM25Settings = bundle.settings(name)
    terms, folder = bundle.analyzer.size(settings.field), f"rankers/{name}/"
    index = ImpactIndex.open(bundle, folder, terms, (settings.impacts,))
    if settings.fields is None:
        return index
    return FieldIndex.of_bundle(bundle, folder, index, settings.formula, averages)


RANKER = BM25
SETTINGS = BM25Settings
