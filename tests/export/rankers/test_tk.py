"""A TK's network is proven, and scores as PyTorch does."""

import numpy as np
import pytest
import torch
from tests.kinds import TinyRankers

from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.candidates import StoredCandidates, TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.tk import TK
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.conformer_kernel.pairs import TermReader
from ranklet.training.rankers.tk import training as tk

pytestmark = pytest.mark.slow

QUERIES = ("quiet stream", "an old old fiddle", "red apple here", "gnorp winter")

NAMES = ("tk", "tkl")


@pytest.fixture
def checkpoints(tiny: TinyRankers) -> dict[str, Checkpoint]:
    return tiny.checkpoints("tk")


@pytest.fixture
def indexed(tiny: TinyRankers) -> Bundle:
    return tiny.bundle("tk")


def opened(bundle: Bundle, name: str) -> TK:
    found = open_ranker(bundle.files, name)
    assert isinstance(found, TK)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_onnx_gives_pytorchs_scores(
    indexed: Bundle, checkpoints: dict[str, Checkpoint], name: str
) -> None:
    ranker, documents, model = (
        opened(indexed, name),
        indexed.files.need_documents(),
        tk.load(checkpoints[name]),
    )
    analyzer = indexed.files.analyzer
    forwards = {"words": documents.forward("words")}
    analysed = AnalysedCollection(documents, analyzer, forwards, ("words",))
    rows = term_rows(checkpoints[name].tokens, analyzer.vocabulary, "lemmas")
    reader = TermReader(analysed, checkpoints[name].settings, rows)
    every = np.arange(len(documents))
    texts = list(map(ranked_text, documents.titles, documents.texts))
    for text in QUERIES[:3]:
        analysis = analyzer.begin()
        query = QueryContext(text, analysis)
        with torch.no_grad():
            expected = model(reader.pairs([reader.query_terms(text)], every[None])).numpy()
        scores = ranker.score(query, TextCandidates(texts, analysis)).values
        tolerance = 0.1 * max(1.0, float(expected.std()))  # of int8, which a processor runs
        np.testing.assert_allclose(scores, expected, atol=tolerance)
        stored = StoredCandidates(documents, every.astype(np.uint32))
        np.testing.assert_array_equal(ranker.score(query, stored).values, scores)
