"""PyTerrier: a retriever over a bundle and a reranker, for its pipelines and experiments.

>>> from ranklet.integrations.pyterrier import RankletReranker, RankletRetriever
>>> RankletRetriever("search.ranklet", k=100).search("knead dough")  # doctest: +SKIP
>>> bm25 >> RankletReranker("search.ranklet")  # doctest: +SKIP

Both need the extra ``[pyterrier]``, and no Java.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ranklet.integrations.search import check, own_text, rank
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.hits import untie
from ranklet.runtime.pipelines.pipeline import PipelineLike
from ranklet.runtime.ranking import opened
from ranklet.runtime.storage.address import BundleLike

with hint_packages():
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
        rows: list[dict[str, Any]] = []
        for asked in inp[kept].to_dict("records"):
            if not str(asked["query"]).strip():  # such as a topic without a description
                continue
            hits = rank(self.bundle, asked["query"], self.options)
            found = untie([(hit.id, hit.score) for hit in hits])
            rows += _places((asked | {"docno": name}, score) for name, score in found)
        return _frame(rows, inp, [*kept, "docno"])


class RankletReranker(pyterrier.Transformer):
    """Score the documents of another retriever, and put the best first.

    Documents with a ``text``, and perhaps a ``title``, are ranked by these, and others by the
    collection of the bundle, which must have their ``docno``. Every ranker of the pipeline scores
    all of them. Equal scores are apart as those of `RankletRetriever`, and keep their order.

    Args:
        bundle: a bundle or its path.
        pipeline: the name of a pipeline, a `Pipeline` or its list of stages; None is the default.

    Raises:
        UnknownRankerError: the bundle has no such pipeline.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    def __init__(self, bundle: BundleLike, pipeline: PipelineLike = None) -> None:
        super().__init__()
        self.bundle, self.pipeline = bundle, pipeline
        check(bundle, {"pipeline": pipeline}, retrieves=False)

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Score documents, each with a ``qid``, a ``query`` and a ``docno``.

        A blank query has none. Other columns stay.

        Raises:
            InputError: a document has no text, or its id is unknown.
        """
        pyterrier.validate.result_frame(inp, extra_columns=["query"])
        kept = [name for name in inp.columns if name not in ("score", "rank")]
        rows: list[dict[str, Any]] = []
        for _, group in inp[kept].groupby("qid", sort=False):
            given = group.to_dict("records")
            if str(query := given[0]["query"]).strip():
                scores = self._scores(query, given)
                best = sorted(range(len(given)), key=lambda at: -scores[at])
                apart = untie([(str(at), scores[at]) for at in best])
                rows += _places((given[int(at)], score) for at, score in apart)
        return _frame(rows, inp, kept)

    def _scores(self, query: str, given: list[dict[str, Any]]) -> list[float]:
        """Return the score of each document of a query."""
        bundle = opened(self.bundle)
        if "text" not in given[0]:
            ids = [each["docno"] for each in given]
            scores = bundle.score(query, ids=ids, pipeline=self.pipeline)
        else:
            texts = [own_text(each["text"], each, place) for place, each in enumerate(given)]
            scores = bundle.score(query, texts, pipeline=self.pipeline)
        return [float(score) for score in scores]


def _places(scored: Iterable[tuple[Mapping[str, Any], float]]) -> list[dict[str, Any]]:
    """Return the rows of a query's documents, best first, with their scores and ranks from 0."""
    return [{**row, "score": score, "rank": at} for at, (row, score) in enumerate(scored)]


def _frame(rows: list[dict[str, Any]], inp: pandas.DataFrame, kept: list[str]) -> pandas.DataFrame:
    """Return rows as a frame, whose columns have the types of the input also without a row."""
    types = {"docno": str, **inp.dtypes, "score": float, "rank": int}
    columns = [*kept, "score", "rank"]
    return pandas.DataFrame(rows, columns=columns).astype({each: types[each] for each in columns})
