"""IBM Model 1 over one field, which rescores by a sparse translation table."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.protocol import AT_ONCE, Ranker, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.ground.options import number, one_of
from ranklet.runtime.kinds import Settings
from ranklet.runtime.lexical.model1 import (
    UNSEEN,
    TranslationTable,
    log_odds,
    translation_likelihoods,
)
from ranklet.runtime.storage.forward import Gathered
from ranklet.runtime.text.names import FIELDS

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles

# The files of the kind in rankers/NAME/. `export` writes the table over its own vocabulary
# (TOKENS). `index` rewrites it over the collection's vocabulary and adds BACKGROUND.
TOKENS = "tokens"  # spellings of the table's token ids, only in a bundle without a collection
OFFSETS = "offsets.npy"  # the row of each query token, (tokens + 1,) int64
SOURCES = "sources.npy"  # document tokens, ascending within a row, (pairs,) int32
PROBABILITIES = "probabilities.npy"  # T(q|d) without self-translations, (pairs,) float32
BACKGROUND = "background.npy"  # P(q|C) by token, 1e-9 if unseen, (tokens,) float32

SHOWN = 5  # number of document tokens that an explanation names per query token


@dataclass(frozen=True)
class Model1Settings(Settings):
    """The settings of a Model 1 ranker."""

    field: str = one_of("words", FIELDS, "tokens of a text")
    p_self: float = number(0.3, "T(t|t), the probability of a token's self-translation", 0, 1)
    lambda_: float = number(0.1, "weight of the collection model", 1e-6, 1)


class Model1(Ranker):
    """Σ over query tokens of log P(q|D) − log λP(q|C) (Boytsov & Kolter, eq. 3)."""

    slice_size = AT_ONCE

    def __init__(
        self, settings: Model1Settings, table: TranslationTable, background: NDArray[np.float32]
    ) -> None:
        self.settings, self.table, self.background = settings, table, background

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> Self:
        """Open the ranker `name` of a bundle."""
        bundle.need_collection()
        settings: Model1Settings = bundle.settings(name)
        folder, tokens = f"rankers/{name}/", bundle.analyzer.size(settings.field)
        table = open_table(bundle, folder, tokens)
        return cls(settings, table, bundle.array(folder + BACKGROUND, np.float32, (tokens,)))

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the log-odds of each candidate, summed over the query's tokens."""
        # The query is analysed first, so that the ids of its unknown words depend on no document.
        tokens, counts = np.unique(query.tokens(self.settings.field), return_counts=True)
        if candidates.stored is not None:  # no stored document has an unknown word
            known = tokens < len(self.background)
            tokens, counts = tokens[known], counts[known]
        odds = self._odds(tokens, candidates)
        # In float64, rounding cannot make a document's score depend on the other documents.
        return Scores((counts.astype(np.float64) @ odds).astype(np.float32))

    def scale(self, query: QueryContext) -> float:
        """Return 1 / number of query tokens (Boytsov & Kolter, §4.1)."""
        return 1 / max(1, len(query.tokens(self.settings.field)))

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by query tokens, and each query token by document tokens.

        A query token's log-odds are divided among document tokens in proportion to T(q|d) P(d|D).
        """
        field, name = self.settings.field, query.analysis.name
        gathered = candidate.tokens(field)
        tokens = query.tokens(field)
        odds = self._odds(tokens, candidate)[:, 0].tolist()
        parts = []
        for token, value in zip(tokens.tolist(), odds, strict=True):
            if value > 0:
                shares, query_token = self._shares(token, gathered), (field, name(token, field))
                inner = []
                for source, share in shares[:SHOWN]:
                    spelling = name(source, field)
                    label = f"{spelling} → {query_token[1]}"
                    inner.append(Explanation(label, share * value, source=(field, spelling)))
                rest = sum(share for _, share in shares[SHOWN:])
                if rest:
                    label = f"{len(shares) - SHOWN} more → {query_token[1]}"
                    inner.append(Explanation(label, rest * value))
                part = Explanation(query_token[1], value, tuple(inner), query_token=query_token)
                parts.append(part)
        return Explanation.total(f"Model 1 over {field}", parts)

    def verify(self) -> None:
        """Check every entry of the table; raise BundleError at the first fault."""
        self.table.verify(f"Model 1 over {self.settings.field}")
        if not ((self.background > 0) & (self.background <= 1)).all():
            raise BundleError("Model 1: a background probability is not in (0, 1]")

    def likelihoods(self, tokens: NDArray[np.int32], documents: Gathered) -> NDArray[np.float32]:
        """Return Σ_d T(q|d) P(d|D), (query tokens, documents) float32."""
        return translation_likelihoods(tokens, self.table, self.settings.p_self, documents)

    def _odds(self, tokens: NDArray[np.int32], candidates: Candidates) -> NDArray[np.float32]:
        """Return the log-odds of query tokens, (query tokens, candidates) float32."""
        documents = candidates.tokens(self.settings.field)
        stored = candidates.stored is not None and len(documents.tokens)
        if stored and documents.tokens.max() >= len(self.background):
            raise damaged("a document has a token past the vocabulary")
        likelihoods = self.likelihoods(tokens, documents)
        background = np.full(len(tokens), UNSEEN, np.float32)
        known = tokens < len(self.background)
        background[known] = self.background[tokens[known]]
        return log_odds(likelihoods, background, self.settings.lambda_)

    def _shares(self, token: int, document: Gathered) -> list[tuple[int, float]]:
        """Return (document token, its share of Σ T(q|d) P(d|D)), largest first, with sum 1."""
        p_self, (sources, probabilities) = self.settings.p_self, self.table.row(token)
        others = zip(sources.tolist(), probabilities.tolist(), strict=True)
        translations = {source: (1 - p_self) * probability for source, probability in others}
        translations[token] = p_self
        unique, counts = np.unique(document.tokens, return_counts=True)
        masses = {
            source: count * translations.get(source, 0.0)
            for source, count in zip(unique.tolist(), counts.tolist(), strict=True)
        }
        total = sum(masses.values())
        shares = [(source, mass / total) for source, mass in masses.items() if mass > 0]
        return sorted(shares, key=lambda pair: -pair[1])


def open_table(bundle: "BundleFiles", folder: str, tokens: int | None = None) -> TranslationTable:
    """Map the table in a folder of a bundle, with a row for each of `tokens` tokens if given."""
    offsets = bundle.offsets(folder + OFFSETS, tokens)
    pairs = (int(offsets[-1]),)
    sources = bundle.array(folder + SOURCES, np.int32, pairs)
    return TranslationTable(
        offsets, sources, bundle.array(folder + PROBABILITIES, np.float32, pairs)
    )


RANKER = Model1
SETTINGS = Model1Settings
