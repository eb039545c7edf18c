"""Cross-encoders: query and document read together by one network; they only rescore.

Sources: Boytsov & Kolter 2021 (paper 000), §3; MacAvaney et al. 2019 (CEDR); Boualili 2022 (paper
001), chapter 7.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.explanation import RANKER_FIELD, Explanation, ReadSpans
from ranklet.runtime.onnx.batches import length_batches
from ranklet.runtime.onnx.encoder import TOKENIZER, open_session, rows_in_budget
from ranklet.runtime.onnx.session import Runs, run_each
from ranklet.runtime.options import one_of
from ranklet.runtime.pipeline.candidates import Candidates, TextCandidates
from ranklet.runtime.pipeline.deadline import FIRST_SLICE
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.cross_encoder.explanation import explain_translations
from ranklet.runtime.rankers.protocol import Ranker, Scores
from ranklet.runtime.storage.checks import Settings
from ranklet.runtime.text.analysis import Analyzer
from ranklet.runtime.text.pairing import PairFormat, Pairing, Row, pair_inputs

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.runtime.storage.bundle_files import BundleFiles

HEADS = (
    "vanilla", "model1", "cedr_knrm", "cedr_drmm", "cedr_pacrr", "marker_avg", "marker_max",
    "marker_first",
)  # fmt: skip
COMBINATIONS = ("head", "first", "max", "mean")

# Outputs of the graph, float32: (pairs,); and T(q|d) of the head model1, (chunks, query tokens,
# tokens), 0 where a token is none of the document.
OUTPUT, TRANSLATIONS = "pair_scores", "pair_translations"


@dataclass(frozen=True)
class CrossEncoderSettings(PairFormat, Settings):
    """What a cross-encoder is made of.

    Attributes:
        field: wordpieces: the pieces of the bundle's tokenizer, stored for every document; empty:
            it has a tokenizer of its own, and documents are cut into pieces when they are scored.
    """

    head: str = one_of("vanilla", HEADS, "network on top")
    combine: str = one_of("head", COMBINATIONS, "one score of all chunks")
    field: str = "wordpieces"

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.field not in ("wordpieces", ""):
            raise InputError(f"field is {self.field!r}; it must be wordpieces, or empty")
        if self.head.startswith("marker") and self.marking == "none":
            raise InputError(f"head is {self.head}, and marking is none: choose a marking for it")

    @property
    def per_pair(self) -> bool:
        """True: the network reads query and document together."""
        return True


class CrossEncoder(Ranker):
    """One network over query and document.

    On a processor each pair runs alone and unpadded, so that its score hangs on nothing else (the
    scales of a quantised model hang on all that runs at once); on a GPU pairs of like length run
    together.

    Args:
        settings: of the network's input.
        session: of the graph.
        tokenizer: that the word pieces are of.
        field: what its word pieces are called in an explanation.
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
        # Under a deadline: so many pairs at first as take the time of FIRST_SLICE chunks.
        self.slice_size = max(1, FIRST_SLICE // settings.chunks)
        self._tokenizer = tokenizer
        self.pairing = Pairing(settings, tokenizer)
        self.analyzer = Analyzer.of_pieces(tokenizer)

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "CrossEncoder":
        """Open the ranker `name` of a bundle."""
        settings = CrossEncoderSettings.from_json(
            bundle.manifest.rankers[name].settings, f"rankers.{name}"
        )
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
        pieces, query_truncated = self._pieces(query)
        pairs = [self.pairing.pair(pieces, document) for document in self._documents(candidates)]
        out = np.empty(len(pairs), np.float32)
        longest = [max(len(row.ids) for row in pair.rows) for pair in pairs]
        rows, together = [len(pair.rows) for pair in pairs], self.session.on_gpu
        batches = list(length_batches(longest, rows_in_budget, rows, together=together))
        inputs = (pair_inputs([pairs[at].rows for at in places]) for places in batches)
        for places, found in zip(batches, run_each(self.session, OUTPUT, inputs), strict=True):
            if found.shape != (len(places),) or not np.isfinite(found).all():
                raise BundleError(
                    f"the cross-encoder gave {found.shape} {found.dtype} for {len(places)} pairs, "
                    "a finite score each wanted: the bundle is damaged"
                )
            out[places] = found
        return Scores(out, [at for at, pair in enumerate(pairs) if pair.cut], query_truncated)

    def scale(self, query: QueryContext) -> float:
        """Return 1; for a log-likelihood 1 / the number of query tokens (paper 000, §4.1)."""
        return 1 / max(1, len(self._pieces(query)[0])) if self.settings.head == "model1" else 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by its chunks and, of the head model1, by pairs of word pieces.

        What is marked stands in the labels.
        """
        (document,) = self._documents(candidate)
        pair = self.pairing.pair(self._pieces(query)[0], document)
        reading = ReadSpans(self._field, tuple(pair.read), tuple(pair.stems))
        label = f"cross-encoder {self.settings.head}"
        if pair.stems:
            label += f", marked: {', '.join(pair.stems)}"
        combine = self.settings.combine
        if combine == "head":
            return replace(self._explain([pair.rows], [label])[0], read=reading)
        # All chunks run at once, as when they are scored: a quantised model's scales are the same.
        labels = [f"chunk {at}" for at in range(1, len(pair.rows) + 1)]
        parts = [
            replace(part, read=replace(reading, spans=(span,)))
            for part, span in zip(
                self._explain([[row] for row in pair.rows], labels), pair.read, strict=True
            )
        ]
        if combine == "mean":
            parts = [part.scaled(1 / len(parts), part.label) for part in parts]
            return replace(Explanation.total(label, parts), read=reading)
        best = max(parts, key=lambda part: part.value)
        chosen = best if combine == "max" else parts[0]
        found = Explanation.total(f"{label}, the {combine} chunk", [chosen])
        return replace(found, read=reading)

    def verify(self) -> None:
        """Score a pair without a word; BundleError names the fault."""
        analysis = self.analyzer.begin()
        self.score(QueryContext("", analysis), TextCandidates([""], analysis))

    def _explain(self, pairs: list[list[Row]], labels: list[str]) -> list[Explanation]:
        """Explain the scores of some pairs, run at once."""
        inputs = pair_inputs(pairs)
        if self.settings.head != "model1":
            scores = self.session.run(OUTPUT, inputs).tolist()
            return [Explanation(label, score) for label, score in zip(labels, scores, strict=True)]
        translations = self.session.run(TRANSLATIONS, inputs)
        first, special = pairs[0][0], set(self.pairing.special)
        asked = [each for each in first.ids[: first.query] if each not in special]
        spell, belongs = self._tokenizer.id_to_token, inputs["pairs"].astype(bool)
        ids, field = inputs["input_ids"], self._field
        places = np.full_like(ids, -1)
        for at, row in enumerate(row for rows in pairs for row in rows):
            places[at, row.query : row.query + len(row.places)] = row.places
        return [
            explain_translations(
                translations[own], asked, ids[own], places[own], spell, label, field
            )
            for own, label in zip(belongs, labels, strict=True)
        ]

    def _documents(self, candidates: Candidates) -> list[list[int]]:
        """Return the word pieces of each candidate."""
        if not self.settings.field:
            candidates = TextCandidates(candidates.texts, self.analyzer.begin())
        documents = candidates.tokens("wordpieces")
        ends = np.cumsum(documents.lengths).tolist()
        tokens = documents.tokens.tolist()
        return [tokens[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def _pieces(self, query: QueryContext) -> tuple[list[int], bool]:
        """Return the query's word pieces that are read, and whether there are others."""

        def make() -> tuple[list[int], bool]:
            analysis = query.analysis if self.settings.field else self.analyzer.begin()
            pieces = analysis.tokens(query.text, "wordpieces").tolist()
            read = self.pairing.query(pieces)
            return read, len(read) < len(pieces)

        return query.once(id(self), make)


RANKER = CrossEncoder
SETTINGS = CrossEncoderSettings
