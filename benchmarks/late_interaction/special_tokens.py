"""How much of a ColBERT's score special tokens contribute."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.token_vectors import Ranked
from benchmarks.built.trained import all_cores
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import Role, TokenLayout
from ranklet.training.pretrained.backbone import load_backbone

QUERIES, DOCUMENTS = 200, 10  # queries, and candidates of each, BM25's first
DOCUMENT_TOKENS = 128


class Shares(NamedTuple):
    """Shares of the score of each pair of a query and a document, (pairs,) each.

    Attributes:
        dimension: of the vectors.
        of_query: what [CLS] and [SEP] of the query add.
        of_document: what words of the query add whose best match is [CLS] or [SEP].
        spread: standard deviation over a query's documents of what special tokens of the query add,
            as a share of that of the score, (queries,).
    """

    dimension: int
    of_query: NDArray[np.float64]
    of_document: NDArray[np.float64]
    spread: NDArray[np.float64]

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.of_query)

    def rows(self) -> list[tuple[str, list[str]]]:
        """Return rows of a table: a name, the mean, and the 5th and 95th percentile."""
        named = {
            "share of the score from [CLS] and [SEP] of the query": self.of_query,
            "share from words of the query that match [CLS] or [SEP] best": self.of_document,
            "standard deviation over documents of the first, ÷ that of the score": self.spread,
        }
        return [
            (name, [f"{each.mean():.1%}", *(f"{np.percentile(each, q):.1%}" for q in (5, 95))])
            for name, each in named.items()
        ]


def special_shares(found: Ranked) -> Shares:
    """Return what special tokens add to the scores of MiniLM-L6, which has not learned to rank.

    Its vectors are the last states, and their similarity is the cosine.
    """
    encoder = UntrainedEncoder()
    of_query, of_document, spread = [], [], []
    for query, candidates in list(zip(found.queries, found.candidates, strict=True))[:QUERIES]:
        numbers = candidates[:DOCUMENTS].tolist()
        if len(numbers) < 2:
            continue
        vectors, special = encoder.vectors([query.text], "query")[0]
        scores, added = [], []
        for own, alone in encoder.vectors([found.texts[n] for n in numbers], "document"):
            similarities = vectors @ own.T
            best, score = similarities.max(1), float(similarities.max(1).sum())
            added.append(float(best[special].sum()))
            scores.append(score)
            matched = alone[similarities.argmax(1)] & ~special
            of_query.append(added[-1] / score)
            of_document.append(float(best[matched].sum()) / score)
        spread.append(np.std(added) / np.std(scores))
    return Shares(encoder.dimension, *map(np.array, (of_query, of_document, spread)))


class UntrainedEncoder:
    """MiniLM-L6 as it comes, as a ColBERT without a projection."""

    def __init__(self) -> None:
        self._backbone = load_backbone()
        self.dimension = int(self._backbone.config.hidden_size)
        settings = ColBERTSettings(max_document_tokens=DOCUMENT_TOKENS, dimension=self.dimension)
        self._layout = TokenLayout(settings, self._backbone.tokenizer)

    def vectors(
        self, texts: Sequence[str], role: Role
    ) -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        """Return each text's vectors, (tokens, dimension), and which are of special tokens."""
        import torch

        rows = self._layout.rows(texts, role)[0]
        inputs = {name: torch.from_numpy(values) for name, values in row_feeds(rows).items()}
        with torch.inference_mode(), all_cores():
            states = self._backbone.model(**inputs).last_hidden_state
            states = torch.nn.functional.normalize(states, dim=2).numpy()
        special = [
            np.array([token.special for token in self._layout.tokens(text, role)]) for text in texts
        ]
        return [
            (own[row.kept], alone[row.kept])
            for own, row, alone in zip(states, rows, special, strict=True)
        ]
