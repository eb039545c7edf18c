"""Check that judgements, queries and documents belong together, before anything is learned.

A judged document that does not exist can never be found, and a query without a text is never
ranked. Neither makes a training or an evaluation fail, so both are counted and named.
"""

from collections.abc import Callable, Sequence
from collections.abc import Collection as Ids
from dataclasses import dataclass

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import parse_split
from ranklet.corpus.progress import warn
from ranklet.runtime.ground.errors import InputError

# Returns those of some document ids that do not exist.
Lacking = Callable[[Ids[str]], Ids[str]]


@dataclass(frozen=True)
class JudgementCheck:
    """How the judgements of some splits fit the queries and the documents.

    Attributes:
        splits: the splits, for messages.
        judged: number of judged documents, each counted once.
        relevant: number of those that are relevant for a query.
        missing: the id of each judged document that does not exist, and the first query that it is
            judged for, relevant documents first.
        missing_relevant: how many of these are relevant for a query.
        without_text: ids of the judged queries that have no text.
        without_relevant: ids of the queries for which no document is judged relevant.
        unanswerable: ids of the queries whose relevant documents all do not exist.
    """

    splits: str
    judged: int
    relevant: int
    missing: tuple[tuple[str, str], ...]
    missing_relevant: int
    without_text: tuple[str, ...]
    without_relevant: tuple[str, ...]
    unanswerable: tuple[str, ...]

    def faults(self) -> list[str]:
        """Return a sentence per fault, with its count and its first case."""
        found = []
        if self.missing:
            document, query = self.missing[0]
            found.append(
                f"of the {self.judged:,} judged documents of {self.splits}, {len(self.missing):,} "
                f"cannot be found ({self.missing_relevant:,} relevant); the first is {document!r}, "
                f"judged for query {query!r}"
            )
        for ids, one, several in (
            (self.without_text, "is judged and has no text", "are judged and have no text"),
            (self.without_relevant, "has no relevant document", "have no relevant document"),
            (
                self.unanswerable,
                "has only relevant documents that cannot be found",
                "have only relevant documents that cannot be found",
            ),
        ):
            if ids:
                count = f"1 query of {self.splits} {one}"
                if len(ids) > 1:
                    count = f"{len(ids):,} queries of {self.splits} {several}"
                found.append(f"{count}; the first is {ids[0]!r}")
        return found

    def counts(self) -> dict[str, int]:
        """Return the counts by name, for JSON."""
        return {
            "judged": self.judged,
            "missing": len(self.missing),
            "missing_relevant": self.missing_relevant,
            "queries_without_text": len(self.without_text),
            "queries_without_relevant": len(self.without_relevant),
            "queries_unanswerable": len(self.unanswerable),
        }


def check_judgements(
    collection: Collection, specs: Sequence[str], lacking: Lacking, where: str
) -> JudgementCheck:
    """Count what does not belong together in some splits, and warn of it once.

    Args:
        collection: the queries and judgements.
        specs: the splits, as `read_split` takes them.
        lacking: returns those of some ids that are no documents.
        where: what should have the documents, for messages.

    Raises:
        InputError: more than half of the relevant documents do not exist.
        CollectionError: a split does not exist, or a file is malformed.
    """
    check = _count_faults(collection, specs, lacking)
    if 2 * check.missing_relevant > check.relevant:
        document, query = check.missing[0]
        raise InputError(
            f"{check.missing_relevant:,} of {check.relevant:,} relevant documents of "
            f"{check.splits} are not in {where}, the first is {document!r} of query {query!r}; "
            "give the documents that were judged"
        )
    for fault in check.faults():
        warn(fault)
    return check


def _count_faults(collection: Collection, specs: Sequence[str], lacking: Lacking) -> JudgementCheck:
    qrels: dict[str, dict[str, int]] = {}
    texts: list[str] = []
    for part in dict.fromkeys(map(parse_split, specs)):
        judged = collection.qrels(part.name)
        has = part.among(judged)
        qrels |= {query: judged[query] for query in judged if has(query)}
        texts += [query.id for query in collection.queries(part.name) if has(query.id)]
    texts = list(dict.fromkeys(texts))
    first: dict[str, str] = {}  # the first query by document, relevant documents first
    relevant: dict[str, list[str]] = {}  # relevant documents by query
    for query, grades in qrels.items():
        relevant[query] = [name for name, grade in grades.items() if grade > 0]
        for name in relevant[query]:
            first.setdefault(name, query)
    all_relevant = set(first)
    for query, grades in qrels.items():
        for name in grades:
            first.setdefault(name, query)
    gone = set(lacking(first))
    missing = tuple((name, query) for name, query in first.items() if name in gone)
    known = set(texts)
    return JudgementCheck(
        splits=" and ".join(map(repr, dict.fromkeys(specs))),
        judged=len(first),
        relevant=len(all_relevant),
        missing=missing,
        missing_relevant=len(gone & all_relevant),
        without_text=tuple(query for query in qrels if query not in known),
        without_relevant=tuple(query for query in texts if not relevant.get(query)),
        unanswerable=tuple(
            query for query in texts if relevant.get(query) and gone.issuperset(relevant[query])
        ),
    )
