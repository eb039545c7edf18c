import numpy as np
from tests.kinds import TinyRankers
from tests.runtime.rankers.conformer_kernel.sessions import Fake

from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.rankers.opening import ranker_of


def test_the_proof_reads_a_document_once_and_scores_as_serving_does(tiny: TinyRankers) -> None:
    bundle = tiny.bundle("conformer_kernel").files
    ranker = ranker_of(bundle, "ndrm3")
    assert isinstance(ranker, ConformerKernel)
    analysis = bundle.analyzer.begin()
    texts_of_queries = ("quiet stream", "an old old fiddle", "gnorp winter", "", "old")
    queries = [QueryContext(text, analysis) for text in texts_of_queries]
    texts = TextCandidates(["the red apple", "an old river " * 3, "gnorp"], analysis)
    together = ranker.matching.scores(queries, texts)
    alone = np.stack([ranker.score(query, texts).values for query in queries])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    session = Fake(on_gpu=False)
    counted = TermMatching(
        ranker.settings, ranker.matching.rows, ranker.matching.idf_of, ranker.matching.floors,
        lambda: session, 9,
    )  # fmt: skip
    counted.scores(queries, texts)
    assert len(session.fed) == len(texts)
