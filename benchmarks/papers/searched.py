"""What BM25 finds for queries, and lists that a trained ranker makes of it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.indexing.ragged import by_length
from ranklet.corpus.languages.options import WORDS
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.learning.device import choose_device

DEPTH = 1000  # documents of each query
Lists = Sequence[NDArray[np.integer]]  # of each query, numbers of documents, best first

# A collection, queries to learn from, and those that are held out.
Data = tuple[Collection, JudgedQueries, JudgedQueries]


class Asked(NamedTuple):
    """Queries, what BM25 finds for each, and the collection, with or without its titles."""

    analysed: AnalysedCollection
    titles: bool
    queries: Sequence[JudgedQuery]
    found: Lists
    scores: Sequence[NDArray[np.floating]]

    def texts(self) -> list[str]:
        """Return the text of each document that rankers read."""
        listed = self.analysed.listed()
        return [ranked_text(each.title, each.text, self.titles) for each in listed]

    def text(self, number: int) -> str:
        """Return the text of a document that rankers read."""
        stored = self.analysed.documents
        return ranked_text(stored.titles[number], stored.texts[number], self.titles)

    def hits(self, query: JudgedQuery, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which documents are relevant."""
        ids = self.analysed.documents.ids
        return np.array([ids[number] in query.relevant for number in numbers.tolist()], bool)


class Trained(NamedTuple):
    """A trained ranker, and what ranks anew: its own lists under "", others by name.

    Attributes:
        checkpoint: a Checkpoint, or another thing that can `save` itself and knows its `training`.
        chosen: what was chosen on queries that were held out, plain values by name.
    """

    checkpoint: Any
    rank: Callable[[Asked], Mapping[str, Lists]]
    chosen: Mapping[str, Any]


def asked_of(
    collection: Collection, queries: Sequence[JudgedQuery], bm25: BM25Settings, *, titles: bool
) -> Asked:
    """Return what BM25 finds for queries of a collection."""
    analysed = _analysed(collection.path, titles)
    retriever = analysed.bm25(bm25)
    found = [
        retriever.retrieve(QueryContext(query.text, analysed.analyzer.begin()), DEPTH)
        for query in queries
    ]
    numbers, scores = [each.numbers for each in found], [each.scores for each in found]
    return Asked(analysed, titles, queries, numbers, scores)


@cache
def _analysed(path: Path, titles: bool) -> AnalysedCollection:
    documents = Collection(path).documents()
    return analyse(documents, ["lemmas"], titles=titles, options=WORDS)


def encoded(
    model: Any, checkpoint: Checkpoint, texts: Sequence[str], longest: int, segment: int = 0
) -> torch.Tensor:
    """Return the vectors of texts, (texts, dimension) float32, where the model runs."""
    tokens, device = tokenise(checkpoint.need_tokenizer(), texts, longest), choose_device("auto")

    def run(rows: NDArray[np.intp]) -> NDArray[np.float32]:
        made = model(*encoder_inputs(tokens, rows, 0, segment, device))
        return np.asarray(made.float().cpu().numpy())

    with torch.inference_mode():
        return torch.from_numpy(by_length(tokens.lengths, 512, run)).to(device)


def again(numbers: NDArray[np.integer], scores: NDArray[np.floating]) -> NDArray[np.integer]:
    """Return the first documents in the order of new scores, then the others."""
    order = np.argsort(-scores, kind="stable")
    return np.concatenate([numbers[: len(scores)][order], numbers[len(scores) :]])
