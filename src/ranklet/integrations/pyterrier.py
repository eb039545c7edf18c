"""PyTerrier: a retriever over a bundle, for its pipelines and experiments.

>>> from ranklet.integrations.pyterrier import RankletRetriever
>>> RankletRetriever("search.ranklet", k=100).search("knead dough")  # doctest: +SKIP

It needs the extra ``[pyterrier]``, and no Java.
"""

from typing import Any

from ranklet.integrations.search import check, rank
from ranklet.runtime.extras import hinted
from ranklet.runtime.hits import untied
from ranklet.runtime.pipeline import PipelineLike
from ranklet.runtime.storage.address import BundleLike

with hinted():
    import pandas
    import pyterrier

RESULTS = ("docno", "score", "rank")


class RankletRetriever(pyterrier.Transformer):
    """Retrieve from the collection of a bundle.

    A result has the columns of its query, ``docno``, ``score`` and ``rank``, which begins at 0.
    Equal scores are apart by the smallest step, because PyTerrier's measures break ties by ids of
    documents and would measure another ranking.

    Args:
        bundle: a bundle or its path.
        k: maximum number of documents of a query.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.
        options: any further keyword of `Bundle.rank`.

    Raises:
        InputError: an option is unknown or invalid, or the bundle has no collection.
        UnknownRankerError: the bundle has no such pipeline.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    def __init__(
        self, bundle: BundleLike, k: int = 1000, pipeline: PipelineLike = None, **options: Any
    ) -> None:
        super().__init__()
        self.bundle = bundle
        self.options = {"k": k, "pipeline": pipeline, **options}
        check(bundle, self.options, retrieves=True)

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Retrieve the documents of each query, which has a ``qid`` and a ``query``.

        A blank query has none.
        """
        pyterrier.validate.query_frame(inp, extra_columns=["query"])
        kept = [name for name in inp.columns if name not in RESULTS]
        rows = []
        for asked in inp[kept].to_dict("records"):
            if not str(asked["query"]).strip():  # such as a topic without a description
                continue
            hits = untied(
                [(hit.id, hit.score) for hit in rank(self.bundle, asked["query"], self.options)]
            )
            rows += [
                {**asked, "docno": name, "score": score, "rank": place}
                for place, (name, score) in enumerate(hits)
            ]
        types = {**inp[kept].dtypes, "docno": str, "score": float, "rank": int}
        return pandas.DataFrame(rows, columns=[*kept, *RESULTS]).astype(types)
