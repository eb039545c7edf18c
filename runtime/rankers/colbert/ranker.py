"""Late interaction: each token of a query finds its best token in a document (MaxSim).

Source: Khattab & Zaharia 2020, "ColBERT" (arXiv 2004.12832).

The explanation names the token of the document that each token of the query found.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.explanation import RANKER_FIELD, Explanation, ReadSpans
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.deadline import FIRST_SLICE
from ranklet.runtime.call.mask import Mask, check_mask
from ranklet.runtime.call.protocol import EncodesTexts, Retrieved, Retriever, Role, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.dense.maxsim import MaxSimStore, Quantised, TokenStore, longest
from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.rankers.colbert.encoder import (
    ColBERTEncoder,
    StoredTokens,
    TokenEncoder,
    TokenVectors,
)
from ranklet.runtime.rankers.colbert.settings import OFFSETS, SCALES, VALUES, ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import Row
from ranklet.runtime.text.analysis import Analyzer
from ranklet.runtime.text.tokenizing import TextToken

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles


# Vectors of a collection, some 25,000 passages, up to which scoring all of them takes about 0.2 s
# on one thread. Indexing warns of larger ones if no ranker retrieves by an index.
EXHAUSTIVE = 2_000_000
STORED_SLICE = 200  # stored candidates that are scored in about two milliseconds
_CHECKED = 1 << 16  # vectors whose lengths are checked at a time

LABEL = "sum of the best matches"
PROMPT = "the prompt"
NOTHING = "no token of the query or of the document has a vector"


class ColBERT(Retriever, EncodesTexts):
    """Σ over the query's tokens of the largest inner product with a token of the document.

    Args:
        encoder: encodes queries, and the caller's texts.
        bundle: holds the vectors of the collection.
        name: name of the ranker in the bundle.
    """

    encodes_queries = True

    def __init__(self, encoder: TokenEncoder, bundle: "BundleFiles", name: str) -> None:
        self.encoder, self.settings = encoder, encoder.settings
        self._bundle, self._name, self._folder = bundle, name, f"rankers/{name}/"
        self.analyzer = Analyzer.of_pieces(encoder.tokenizer)

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "ColBERT":
        """Open the ranker `name` of a bundle; vectors are mapped when they are first used."""
        return cls(ColBERTEncoder.open(bundle, name), bundle, name)

    def over(self, parts: "Sequence[BundleFiles]") -> list["ColBERT"]:
        """Return the ranker over each of some parts of a collection; they share the encoder."""
        return [self, *(type(self)(self.encoder, each, self._name) for each in parts[1:])]

    @property
    def provider(self) -> str:
        """The provider that the encoder of queries runs on."""
        return self.encoder.provider

    def first_slice(self, *, texts: bool) -> int:
        """Return a larger number for stored candidates, because no network reads them."""
        return FIRST_SLICE if texts else STORED_SLICE

    def encode(self, texts: Sequence[str], role: Role) -> TokenVectors:
        """Return the vectors of each text's tokens in 32 bits, (tokens, dimension) float32."""
        return self.encoder.encode(texts, role)

    def encode_query(self, query: QueryContext) -> Quantised:
        """Return the query's vectors, which are computed once per query."""
        return self._encoded(query)[0]

    def _encoded(self, query: QueryContext) -> tuple[Quantised, bool]:
        return query.once(self.encoder, lambda: self.encoder.encode_query(query.text))

    @property
    def store(self) -> MaxSimStore:
        """The documents."""
        return self.token_store

    @cached_property
    def token_store(self) -> TokenStore:
        """The mapped vectors of the documents."""
        bundle, folder, dimension = self._bundle, self._folder, self.settings.dimension
        bundle.need_collection()
        offsets = bundle.offsets(folder + OFFSETS, bundle.manifest.documents)
        count = int(offsets[-1])
        values = bundle.array(folder + VALUES, self.settings.element, (count, dimension))
        scales = bundle.array(folder + SCALES, np.float32, (count,))
        return TokenStore(offsets, Quantised(values, scales))

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k documents with the largest score, after scoring all that are allowed."""
        vectors, truncated = self._encoded(query)
        mask = check_mask(allowed, len(self.store))
        numbers = np.arange(len(self.store)) if mask is None else np.flatnonzero(mask)
        scores = self.store.scores(vectors, numbers)
        if not np.isfinite(scores).all():
            raise damaged(f"{self._name}: a score is not finite")
        best = top_k(scores, k)
        return Retrieved(numbers[best].astype(np.uint32), scores[best], truncated)

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return MaxSim with each candidate."""
        vectors, query_truncated = self._encoded(query)
        (store, cut), numbers = self._stored(candidates)
        return Scores(store.scores(vectors, numbers), cut, query_truncated)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / number of query vectors, so that longer queries do not have larger scores."""
        return 1 / max(1, len(self.encode_query(query).values))

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by the best token of the document for each token of the query."""
        (store, _), (number,) = self._stored(candidate)
        layout, text = self.encoder.layout, candidate.texts[0]
        similarities = store.similarities(self.encode_query(query), int(number))
        row = layout.rows([text], "document")[0][0]
        if len(row.kept) != similarities.shape[1]:
            raise damaged(
                f"{self._name}: a document has {similarities.shape[1]} vectors, but its text has "
                f"{len(row.kept)}"
            )
        return explain_matches(
            RANKER_FIELD + self._name,
            layout.tokens(query.text, "query"),
            layout.rows([query.text], "query")[0][0],
            layout.tokens(text, "document"),
            row.kept,
            similarities,
            self.notes(text),
        )

    def notes(self, text: str) -> Mapping[int, str]:  # noqa: ARG002
        """Return what else is known of a document's tokens, by their places in its row."""
        return {}

    def _stored(self, candidates: Candidates) -> tuple[StoredTokens, NDArray[np.integer]]:
        """Return vectors that include the candidates', and the candidates' numbers among them."""
        if candidates.stored is not None:
            return StoredTokens(self.store, []), candidates.stored
        return self.encoder.encode_documents(candidates.texts), np.arange(len(candidates))

    def verify(self) -> None:
        """Check every vector and run the encoder; raise BundleError at a fault."""
        self.verify_vectors()
        self.encoder.encode_documents(["a"])

    def verify_vectors(self) -> None:
        """Check every stored vector; raise BundleError at a fault."""
        values, scales = self.token_store.vectors
        if not (np.isfinite(scales) & (scales > 0)).all():
            raise BundleError(f"{self._name}: a factor in {SCALES} is not finite and above 0")
        most = longest(self.settings.element, self.settings.dimension)
        for begin in range(0, len(values), _CHECKED):
            block = values[begin : begin + _CHECKED].astype(np.float32)
            if len(block) and np.linalg.norm(block, axis=1).max() > most:
                raise BundleError(
                    f"{self._name}: a vector in {VALUES} is too long for exact products"
                )


class _Match(NamedTuple):
    """A token of the query, and what it adds to the score."""

    token: TextToken
    group: str  # of tokens that are not words of the query, which share a part; empty for words
    value: float
    found: int  # place of the document's token whose vector matches best


def explain_matches(
    field: str,
    query: Sequence[TextToken],
    row: Row,
    document: Sequence[TextToken],
    kept: Sequence[int],
    similarities: NDArray[np.float32],
    notes: Mapping[int, str] | None = None,
) -> Explanation:
    """Return a part for each token of the query, with the token that it found below it.

    Special tokens of the query share a part, and so do the tokens of its prompt and of its
    expansion. Their labels say which share of the score they have.

    Args:
        field: the field of the tokens, as in `Explanation.source`.
        query: the tokens of the query's row.
        row: the query's row.
        document: the tokens of the document's row.
        kept: the places of the document's tokens that have a vector.
        similarities: (query vectors, document vectors) float32.
        notes: follow the labels of the document's tokens, by their places in its row.
    """
    pieces, notes = _piece_numbers(document), notes or {}
    read = ReadSpans(field, ((0, len(pieces)),))
    if not similarities.size:
        return Explanation(NOTHING, 0.0, read=read)
    best = similarities.argmax(1)
    values = similarities[np.arange(len(best)), best].astype(np.float64)
    matches = [
        _Match(query[place], _group(query[place], place >= row.own), value, kept[vector])
        for place, value, vector in zip(row.kept, values.tolist(), best.tolist(), strict=True)
    ]
    parts, shared = [], defaultdict[str, list[_Match]](list)
    for match in matches:
        if match.group:
            shared[match.group].append(match)
            continue
        inner = _leaf(match, field, document, pieces, notes)
        name = match.token.spelling
        parts.append(replace(Explanation.total(name, [inner]), query_token=(field, name)))
    total = float(values.sum())
    for name, own in shared.items():
        found = [_leaf(match, field, document, pieces, notes) for match in own]
        part = Explanation.total(name, found)
        tokens = " ".join(dict.fromkeys(match.token.spelling.strip() for match in own))
        share = f", {part.value / total:.0%} of the score" if total > 0 else ""
        parts.append(replace(part, label=f"{name} ({len(own)}): {tokens}{share}"))
    return replace(Explanation.total(LABEL, parts), read=read)


def _group(token: TextToken, expands: bool) -> str:
    """Return which tokens that are not words of the query a token belongs to; empty for words."""
    if expands:
        return "expansion of the query"
    if token.special:
        return "special tokens of the query"
    return "prompt of the query" if token.end <= 0 else ""


def _piece_numbers(document: Sequence[TextToken]) -> dict[int, int]:
    """Return which word piece of the text stands at each place, numbered as in `ReadSpans`."""
    own = [at for at, token in enumerate(document) if not token.special and token.end > 0]
    return {place: number for number, place in enumerate(own)}


def _leaf(
    match: _Match,
    field: str,
    document: Sequence[TextToken],
    pieces: Mapping[int, int],
    notes: Mapping[int, str],
) -> Explanation:
    """Return the token of the document that a token of the query found."""
    place, name = match.found, document[match.found].spelling
    if place not in pieces:
        what = name.strip() if document[place].special else PROMPT
        return Explanation(f"{what} → {match.token.spelling.strip()}", match.value)
    label, marks = f"{name} → {match.token.spelling.strip()}", ((pieces[place], match.value),)
    if place in notes:
        label = f"{label} ({notes[place]})"
    return Explanation(label, match.value, source=(field, name), pieces=marks)


RANKER = ColBERT
SETTINGS = ColBERTSettings
