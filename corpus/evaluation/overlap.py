"""Count how much of an evaluation a training has already seen.

A ranker that learned that a document is relevant for one query may prefer it for others, too. So a
gain on queries whose relevant documents were relevant in training is partly memorisation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQuery, parse_split
from ranklet.runtime.bundles.manifest import Manifest

DEFAULT_SPLIT = "train"


@dataclass(frozen=True)
class Overlap:
    """What evaluated queries share with the queries of a training.

    Attributes:
        splits: the splits that were trained on.
        recorded: whether the bundle says that its rankers were trained on them.
        queries: number of evaluated queries with a document that is also relevant in training.
        of_queries: number of evaluated queries.
        documents: number of relevant documents that are also relevant in training.
        of_documents: number of relevant documents.
        trained: number of evaluated queries that are in the training splits themselves.
    """

    splits: tuple[str, ...]
    recorded: bool
    queries: int
    of_queries: int
    documents: int
    of_documents: int
    trained: int

    def __str__(self) -> str:
        splits = " and ".join(self.splits)
        place = f"was also relevant in training, on {splits}"
        if not self.recorded:
            place = f"is also relevant in {splits}"
        text = (
            f"{self.queries:,} of {self.of_queries:,} queries have a relevant document that {place}"
            f" ({self.documents:,} of {self.of_documents:,} documents)"
        )
        if not self.recorded:
            text += "; a ranker that was trained there may have memorised them"
        if self.trained:
            text += f"; {self.trained:,} of these queries are in {splits} themselves"
        return text


def overlap(
    collection: Collection,
    queries: Sequence[JudgedQuery],
    splits: Sequence[str],
    *,
    recorded: bool = False,
) -> Overlap:
    """Compare evaluated queries with the other queries of the training's splits.

    Raises:
        InputError, CollectionError: a split is malformed or does not exist.
    """
    evaluated = {query.id for query in queries}
    learned: set[str] = set()
    trained: set[str] = set()
    for part in map(parse_split, splits):
        qrels = collection.qrels(part.name)
        has = part.among(qrels)
        for query, grades in qrels.items():
            if has(query) and query in evaluated:
                trained.add(query)
            elif has(query):
                learned |= {name for name, grade in grades.items() if grade > 0}
    relevant = {name for query in queries for name in query.relevant}
    return Overlap(
        tuple(splits),
        recorded,
        sum(not learned.isdisjoint(query.relevant) for query in queries),
        len(queries),
        len(relevant & learned),
        len(relevant),
        len(trained),
    )


def count_shared(learned: Iterable[JudgedQuery], held_out: Iterable[JudgedQuery]) -> int:
    """Return how many held-out queries have a relevant document that a learned query has, too."""
    seen = {name for query in learned for name in query.relevant}
    return sum(not seen.isdisjoint(query.relevant) for query in held_out)


def recorded_splits(provenance: Mapping[str, Any], collection: Collection) -> tuple[str, ...]:
    """Return the splits of a collection on which a bundle's rankers were trained or tuned.

    There are none if the bundle does not record them, or if the collection no longer has them.
    """
    reports = [*_reports(provenance).values(), provenance.get("learned")]
    splits = [
        split
        for report in reports
        if isinstance(report, Mapping) and report.get("collection") == collection.name
        for split in (report.get("split"), report.get("tune"), *report.get("splits", ()))
        if isinstance(split, str)
    ]
    present = collection.splits()
    return tuple(each for each in dict.fromkeys(splits) if parse_split(each).name in present)


def trained_rankers(manifest: Manifest) -> list[str]:
    """Return the rankers of a bundle that learned from judged queries, which they may remember.

    BM25 learns two or three numbers, which remember nothing, and an imported model learned from
    other queries.
    """
    reports = _reports(manifest.provenance)
    return [
        name
        for name, entry in manifest.rankers.items()
        if entry.kind != "bm25" and (report := reports.get(name)) and "imported" not in report
    ]


def _reports(provenance: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a bundle records of the trainings of its rankers, by name."""
    checkpoints = provenance.get("checkpoints")
    return checkpoints if isinstance(checkpoints, Mapping) else {}
