"""Cross-encoders read query and document together in one network, so they only rescore.

Sources: Boytsov & Kolter 2021, §3; MacAvaney et al. 2019 (CEDR); Boualili 2022, chapter 7.

The score of a BERT-Model1 is explained by the document pieces that translate into each query piece.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.explanation import RANKER_FIELD, Explanation, ReadSpans
from ranklet.runtime.call.candidates import Candidates, TextCandidates
from ranklet.runtime.call.deadline import FIRST_SLICE
from ranklet.runtime.call.protocol import Ranker, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import InputError, damaged
from ranklet.runtime.ground.options import one_of
from ranklet.runtime.kinds import Settings
from ranklet.runtime.onnx.batches import length_batches, rows_in_budget
from ranklet.runtime.onnx.encoder import TOKENIZER, open_session
from ranklet.runtime.onnx.session import Runs, run_each
from ranklet.runtime.text.analysis import Analyzer
from ranklet.runtime.text.pairing import Pair, PairFormat, Pairing, Row, pair_inputs

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer


HEADS = (
    "vanilla", "model1", "cedr_knrm", "cedr_drmm", "cedr_pacrr", "marker_avg", "marker_max",
    "marker_first",
)  # fmt: skip
# A network that another library has trained, kept with its own head.
IMPORTED = "imported"
COMBINATIONS = ("head", "first", "max", "mean")

_PLAIN = 1, "none"  # chunks and expansion

# Outputs of the graph, float32. The scores are (pairs,). T(q|d) of the head model1 is
# (chunks, query tokens, tokens), 0 for tokens outside the document.
OUTPUT, TRANSLATIONS = "pair_scores", "pair_translations"

# Added to every P(q|D) in the graph, so that a document which explains nothing has a score. It is
# P(q|C) of an unseen token in Boytsov & Kolter, footnote 3.
FLOOR = 1e-9
SHOWN = 5  # number of document pieces shown per query piece; the others are added up


@dataclass(frozen=True)
class CrossEncoderSettings(PairFormat, Settings):
    """The settings of a cross-encoder.

    Attributes:
        field: wordpieces for the stored pieces of the bundle's tokenizer. Empty for a tokenizer of
            its own, which splits documents into pieces when they are scored.
    """

    head: str = one_of("vanilla", HEADS, "network on top", untyped=IMPORTED)
    combine: str = one_of("head", COMBINATIONS, "one score of all chunks")
    field: str = "wordpieces"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.field not in ("wordpieces", ""):
            raise InputError(f"field is {self.field!r}; it must be wordpieces, or empty")
        if self.head.startswith("marker") and self.marking == "none":
            raise InputError(f"head is {self.head}, but marking is none; choose a marking for it")
        if self.head == IMPORTED and (self.chunks, self.expansion) != _PLAIN:
            raise InputError(
                f"head is {IMPORTED}, which reads one chunk and no added tokens but marks; chunks "
                "must be 1 and expansion none"
            )

    @property
    def per_pair(self) -> bool:
        """True, because the network reads query and document together."""
        return True


class CrossEncoder(Ranker):
    """One network over query and document.

    On a CPU each pair runs alone and unpadded, because the scales of a quantised model depend on
    the whole batch. Only so a pair's score is independent of other pairs. On a GPU pairs of similar
    length run together.

    Args:
        settings: the settings, including the format of the network's input.
        session: the session of the graph.
        tokenizer: the tokenizer of the word pieces.
        field: the field of the word pieces in explanations.
    """

    analyzer: Analyzer

    def __init__(
        self,
        settings: CrossEncoderSettings,
        session: "Runs",
        tokenizer: "Tokenizer",
        field: str = "wordpieces",
    ) -> None:
        self.settings, self.session, self._field = settings, session, field
        # With a budget, the first slice takes the time of FIRST_SLICE chunks.
        self.slice_size = max(1, FIRST_SLICE // settings.chunks)
        self._tokenizer = tokenizer
        self.pairing = Pairing(settings, tokenizer)
        self.analyzer = Analyzer.of_pieces(tokenizer)

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "CrossEncoder":
        """Open the ranker `name` of a bundle."""
        settings: CrossEncoderSettings = bundle.settings(name)
        folder = f"rankers/{name}/"
        shared, field = settings.field == "wordpieces", settings.field or RANKER_FIELD + name
        tokenizer = bundle.analyzer.tokenizer if shared else bundle.tokenizer(folder + TOKENIZER)
        return cls(settings, open_session(bundle, folder, many=True), tokenizer, field)

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on."""
        return self.session.provider

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate."""
        pairs, query_truncated = self._pairs(query, candidates)
        values = np.empty(len(pairs), np.float32)
        longest = [max(len(row.ids) for row in pair.rows) for pair in pairs]
        rows, together = [len(pair.rows) for pair in pairs], self.session.on_gpu
        batches = list(length_batches(longest, rows_in_budget, rows, together=together))
        inputs = (pair_inputs([pairs[index].rows for index in batch]) for batch in batches)
        for batch, scores in zip(batches, run_each(self.session, OUTPUT, inputs), strict=True):
            if scores.shape != (len(batch),) or not np.isfinite(scores).all():
                raise damaged(
                    f"the cross-encoder returned shape {scores.shape} for {len(batch)} pairs; "
                    "expected a finite score per pair"
                )
            values[batch] = scores
        truncated = [index for index, pair in enumerate(pairs) if pair.cut]
        return Scores(values, truncated, query_truncated)

    def scale(self, query: QueryContext) -> float:
        """Return 1, for a log-likelihood 1 / number of query tokens (Boytsov & Kolter, §4.1)."""
        return 1 / max(1, len(self._pieces(query)[0])) if self.settings.head == "model1" else 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by its chunks and, with the head model1, by pairs of word pieces.

        The label names the marked stems.
        """
        ((pair,), _) = self._pairs(query, candidate)
        read = ReadSpans(self._field, tuple(pair.read))
        label = f"cross-encoder {self.settings.head}"
        if pair.stems:
            label += f", marked: {', '.join(pair.stems)}"
        combine = self.settings.combine
        if combine == "head":
            return replace(self._explain([pair.rows], [label])[0], read=read)
        # All chunks run at once, as when they are scored, so a quantised model has the same scales.
        labels = [f"chunk {number}" for number in range(1, len(pair.rows) + 1)]
        chunks = self._explain([[row] for row in pair.rows], labels)
        parts = [
            replace(part, read=read._replace(spans=(span,)))
            for part, span in zip(chunks, pair.read, strict=True)
        ]
        if combine == "mean":
            parts = [part.scaled(1 / len(parts), part.label) for part in parts]
        else:
            best = max(parts, key=lambda part: part.value)
            parts, label = [best if combine == "max" else parts[0]], f"{label}, the {combine} chunk"
        return replace(Explanation.total(label, parts), read=read)

    def verify(self) -> None:
        """Score a pair of empty texts; raise BundleError if that fails."""
        analysis = self.analyzer.begin()
        self.score(QueryContext("", analysis), TextCandidates([""], analysis))

    def _explain(self, pairs: list[list[Row]], labels: list[str]) -> list[Explanation]:
        """Explain the scores of some pairs, which run at once."""
        inputs = pair_inputs(pairs)
        if self.settings.head != "model1":
            scores = self.session.run(OUTPUT, inputs).tolist()
            return [Explanation(label, score) for label, score in zip(labels, scores, strict=True)]
        translations = self.session.run(TRANSLATIONS, inputs)
        first, special = pairs[0][0], set(self.pairing.special)
        query = [token for token in first.ids[: first.query] if token not in special]
        spell, belongs = self._tokenizer.id_to_token, inputs["pairs"].astype(bool)
        ids, field = inputs["input_ids"], self._field
        places = np.full_like(ids, -1)
        for index, row in enumerate(row for rows in pairs for row in rows):
            places[index, row.query : row.query + len(row.places)] = row.places
        return [
            explain_translations(
                translations[own], query, ids[own], places[own], spell, label, field
            )
            for own, label in zip(belongs, labels, strict=True)
        ]

    def _pairs(self, query: QueryContext, candidates: Candidates) -> tuple[list[Pair], bool]:
        """Return the pairs with each candidate, and whether the query is truncated."""
        if self.settings.template:
            return [self.pairing.pair_texts(query.text, each) for each in candidates.texts], False
        pieces, truncated = self._pieces(query)
        documents = self._documents(query, candidates)
        return [self.pairing.pair(pieces, each) for each in documents], truncated

    def _documents(self, query: QueryContext, candidates: Candidates) -> list[list[int]]:
        """Return the word pieces of each candidate."""
        if not self.settings.field:
            analysis = self.analyzer.begin(query.analysis.look)
            candidates = TextCandidates(candidates.texts, analysis)
        documents = candidates.tokens("wordpieces")
        ends = np.cumsum(documents.lengths).tolist()
        tokens = documents.tokens.tolist()
        return [tokens[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def _pieces(self, query: QueryContext) -> tuple[list[int], bool]:
        """Return the query's word pieces that are read, and whether the query is truncated."""

        def make() -> tuple[list[int], bool]:
            analysis = query.analysis if self.settings.field else self.analyzer.begin()
            pieces = analysis.tokens(query.text, "wordpieces").tolist()
            read = self.pairing.query(pieces)
            return read, len(read) < len(pieces)

        return query.once(self, make)


def explain_translations(
    translations: NDArray[np.float32],
    query: Sequence[int],
    documents: NDArray[np.int64],
    places: NDArray[np.int64],
    spell: Callable[[int], str | None],
    label: str,
    field: str = "wordpieces",
) -> Explanation:
    """Return log P(Q|D) by query pieces, and each by document pieces (Boytsov & Kolter, eq. 4).

    A query piece's log P(q|D) is the logarithm of the floor plus the gain by translations, which is
    divided among document pieces in proportion to T(q|d).

    Args:
        translations: T(q|d), (chunks, query pieces, tokens), 0 for tokens outside the document.
        query: the query's pieces.
        documents: the token ids, (chunks, tokens).
        places: the document piece of each token, −1 if it is not in the document, (chunks, tokens).
        spell: returns the spelling of a token id.
        label: label of the whole score.
        field: the field of the pieces, as in `Explanation.source`.

    Raises:
        BundleError: the number of rows differs from the number of query pieces.
    """
    if translations.shape[1] != max(1, len(query)):  # a query without pieces has one empty row
        pieces = translations.shape[1]
        raise damaged(f"the cross-encoder explains {pieces} pieces of a query with {len(query)}")
    translations = translations[:, : len(query)]
    length = max(1, int((translations > 0).any(1).sum()))
    ids, places = documents.reshape(-1), places.reshape(-1)
    by_piece = translations.transpose(1, 0, 2).reshape(-1, len(ids)).astype(np.float64)
    parts = []
    for piece, probabilities in zip(query, by_piece, strict=True):
        name = spell(piece) or f"#{piece}"
        likelihood = probabilities.sum() / length + FLOOR
        gain = log(likelihood / FLOOR)
        inner = [Explanation("of any document", log(FLOOR))]
        gains = gain * probabilities / max(probabilities.sum(), FLOOR)  # of each position
        shares = np.bincount(ids, gains)
        order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)].tolist()
        for token in order[:SHOWN]:
            spelling = spell(token) or f"#{token}"
            pieces = _piece_gains(places, gains, ids == token)
            amount = float(shares[token])
            inner.append(
                Explanation(f"{spelling} → {name}", amount, source=(field, spelling), pieces=pieces)
            )
        if rest := order[SHOWN:]:
            pieces = _piece_gains(places, gains, np.isin(ids, rest))
            others = f"{len(rest)} more → {name}"
            inner.append(Explanation(others, float(shares[rest].sum()), pieces=pieces))
        part = Explanation.total(f"{name}, P = {likelihood:.3g}", inner)
        parts.append(replace(part, query_token=(field, name)))
    return Explanation.total(label, parts)


def _piece_gains(
    places: NDArray[np.int64], gains: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[tuple[int, float], ...]:
    """Return the document pieces at some positions and their gains, for `Explanation.pieces`."""
    shown = chosen & (gains > 0) & (places >= 0)
    return tuple(zip(places[shown].tolist(), gains[shown].tolist(), strict=True))


RANKER = CrossEncoder
SETTINGS = CrossEncoderSettings
