"""The queries of a training that a file of scores has, with their scored documents."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.progress import warn
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.errors import InputError
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.distilling.score_file import ScoreFile, checksum, read_scores
from ranklet.training.learning.options import TaughtOptions
from ranklet.training.sampling.negatives import (
    DEPTH,
    NEGATIVES,
    Numbers,
    bm25_negatives,
    random_pools,
    relevant_numbers,
)

DIGITS = 16  # of a digest in a report
# Queries, and for each the documents that a positive and negatives are drawn from.
Pools = tuple[list[JudgedQuery], list[Numbers], list[Numbers]]


class TaughtQuery(NamedTuple):
    """A query with a document to learn from and others, all with a teacher's scores.

    Documents are numbers in the collection.

    Attributes:
        query: a query that both the file and the training have.
        relevant: the documents that are judged relevant in the collection.
        positives: the relevant documents that have a score, or else the candidate with the best
            score.
        negatives: the other candidates; none of them is judged relevant.
        candidates: all documents with a score, ascending.
        scores: the candidates' scores, (candidates,) float32.
    """

    query: JudgedQuery
    relevant: Numbers
    positives: Numbers
    negatives: Numbers
    candidates: Numbers
    scores: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TaughtQueries:
    """The queries that both a file of scores and a training have, and facts about the teacher."""

    queries: list[TaughtQuery]
    facts: Mapping[str, Any]

    @property
    def pools(self) -> Pools:
        """The queries, and what their documents are drawn from."""
        rows = self.queries
        return (
            [each.query for each in rows],
            [each.positives for each in rows],
            [each.negatives for each in rows],
        )

    def of(self, queries: Numbers, documents: Numbers) -> NDArray[np.float32]:
        """Return the scores of documents of some queries, (queries, documents) float32 each."""
        rows = zip([self.queries[at] for at in queries.tolist()], documents, strict=True)
        found = [each.scores[np.searchsorted(each.candidates, own)] for each, own in rows]
        return np.stack(found)


def read_taught(
    options: TaughtOptions, collection: Collection, queries: JudgedQueries, *, titles: bool
) -> TaughtQueries | None:
    """Match the options' score file to some queries; None without a file.

    Raises:
        InputError: the file cannot be used, or it has no scores for these queries.
    """
    if options.teacher is None:
        return None
    return match(read_scores(options.teacher), collection, queries, titles, str(options.teacher))


def pools(
    taught: TaughtQueries | None,
    analysed: AnalysedCollection,
    queries: JudgedQueries,
    retriever: Retriever,
    source: str,
    *,
    seed: int,
    depth: int = DEPTH,
    count: int = NEGATIVES,
) -> Pools:
    """Return the taught queries, or judged ones with negatives of BM25, or of `source` "random".

    Raises:
        InputError: no query has a relevant document in the collection.
    """
    if taught is not None:
        return taught.pools
    usable, relevant = relevant_numbers(list(analysed.documents.ids), queries)
    if source == "random":
        chosen = random_pools(len(analysed.documents), relevant, count=count, seed=seed)
    else:
        chosen = bm25_negatives(
            analysed, usable, relevant, retriever, depth=depth, count=count, seed=seed
        )
    return usable, relevant, chosen


def match(
    file: ScoreFile, collection: Collection, queries: JudgedQueries, titles: bool, path: str
) -> TaughtQueries:
    """Match a score file to the training queries; warn about mismatches.

    Args:
        file: the scores.
        collection: the documents.
        queries: the training's queries.
        titles: whether the training reads titles.
        path: the file's path, for messages.

    Raises:
        InputError: the teacher read titles and the training does not, or the other way round; or
            no query can be learned from.
    """
    if file.titles != titles:
        read = "read titles and this training does not" if file.titles else "read no titles"
        raise InputError(f"the teacher of {path!r} {read}; train as it read (--no-titles or not)")
    numbers, number_of = _numbers(file, collection, titles)
    rows = {name: row for row, name in enumerate(file.queries)}
    changed = {
        query.id
        for query in queries
        if query.id in rows and checksum(query.text) != file.texts[rows[query.id]]
    }
    usable = [
        scored
        for query in queries
        if query.id in rows
        and query.id not in changed
        and (scored := _scored(file, rows[query.id], numbers, query, number_of))
    ]
    if not usable:
        raise InputError(
            f"the scores {path!r} have no query that this training can learn from; give scores of "
            "this collection and split (`ranklet score`)"
        )
    lacking = [name for name, number in zip(file.documents, numbers, strict=True) if number < 0]
    _warn(path, lacking, "documents", "the collection lacks or has with another text")
    _warn(path, sorted(changed), "queries", "the collection has with another text")
    others = rows.keys() - {query.id for query in queries}
    _warn(path, sorted(others), "queries", "are not among those to learn from")
    known = {each.query.id for each in usable}
    without = [query.id for query in queries if query.id not in known]
    if without:
        warn(
            f"{len(without):,} of {len(queries):,} queries are left out, because {path!r} has no "
            f"two documents of them to compare; the first is {without[0]!r}"
        )
    return TaughtQueries(usable, _facts(usable, file, path))


def _scored(
    file: ScoreFile, row: int, numbers: Numbers, query: JudgedQuery, number_of: Mapping[str, int]
) -> TaughtQuery | None:
    """Return the file's columns for a query; None unless it has two documents to compare."""
    part = slice(*file.offsets[row : row + 2].tolist())
    own, scores = numbers[file.numbers[part]], file.scores[part]
    own, scores = own[own >= 0], scores[own >= 0]
    order = np.argsort(own)
    own, scores = own[order], scores[order]
    known = sorted(number_of[name] for name in query.relevant if name in number_of)
    relevant = np.array(known, np.int64)
    positives = np.intersect1d(own, relevant)
    if not len(positives) and len(own):
        positives = own[[np.argmax(scores)]]
    negatives = np.setdiff1d(own, np.concatenate([relevant, positives]))
    if not len(negatives):
        return None
    return TaughtQuery(query, relevant, positives, negatives, own, scores)


def _numbers(
    file: ScoreFile, collection: Collection, titles: bool
) -> tuple[Numbers, dict[str, int]]:
    """Return the number of each document of the file, and of each id of the collection.

    The number is −1 if the collection lacks the document or has it with another text.
    """
    checks = file.texts[len(file.queries) :].tolist()
    expected = dict(zip(file.documents, checks, strict=True))
    number_of, same = dict[str, int](), dict[str, int]()
    for number, document in enumerate(collection.documents()):
        number_of[document.id] = number
        if document.id in expected:
            text = ranked_text(document.title, document.text, titles)
            if checksum(text) == expected[document.id]:
                same[document.id] = number
    return np.array([same.get(name, -1) for name in file.documents], np.int64), number_of


def _facts(found: Sequence[TaughtQuery], file: ScoreFile, path: str) -> dict[str, Any]:
    """Return facts about the teacher for a report, with the mean size of its margins."""
    margins = [
        each.scores[np.isin(each.candidates, each.positives)].mean()
        - each.scores[np.isin(each.candidates, each.negatives)]
        for each in found
    ]
    return {
        "scores": path,
        "model": file.teacher,
        "queries": len(found),
        "pairs": sum(len(each.scores) for each in found),
        "mean_margin": round(float(np.mean(np.abs(np.concatenate(margins)))), 3),
        "digest": _digest(file)[:DIGITS],
    }


def _digest(file: ScoreFile) -> str:
    """Return a text that changes whenever what can be learned from the file does."""
    digest = hashlib.sha256(file.digest.encode("utf-8", "replace"))
    for values in (file.texts, file.offsets, file.numbers, file.scores):
        digest.update(values.tobytes())
    digest.update(repr((file.queries, file.documents)).encode("utf-8", "replace"))
    return digest.hexdigest()


def _warn(path: str, ids: Sequence[str], what: str, why: str) -> None:
    if ids:
        warn(f"{path!r} has {len(ids):,} {what} that {why}; the first is {ids[0]!r}")
