"""Read what a search can learn from: judged queries, marks, or a log of clicks."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.collection import QRELS, Collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.progress import warn
from ranklet.corpus.sources.cells import Bad, is_decoded
from ranklet.corpus.sources.tables import read_table
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.ground.errors import CollectionError, InputError

CLICKS = "query, id, clicks"  # the columns of a log; a fourth, position, is optional
CLICK_SHARE = 0.1  # of a query's weighted clicks, from which on a document counts as relevant
LEAST_CLICKS = 2  # of a query; a single one may be a mistake

Splits = dict[str, list[JudgedQuery]]


def read_judgements(path: Path, documents: Documents) -> Splits:
    """Return judged queries of a folder in BEIR form, or of a table of clicks, by split.

    They include those of which nothing that was judged is relevant.

    Args:
        path: a folder, to which `ranklet judge` may have written, or a .csv or .tsv file with a
            line per query and document that was clicked.
        documents: those that the bundle searches.

    Raises:
        CollectionError: it is neither, or a file is malformed.
        InputError: no query is judged, or none has a relevant document that the bundle has.
    """
    if not path.exists():
        raise CollectionError(
            f"{str(path)!r} does not exist; give a folder of judged queries, or a .csv or .tsv "
            "file of clicks"
        )
    if path.is_dir():
        collection = Collection(path, documents=False)
        names = collection.splits()
        if not names:
            raise CollectionError(
                f"{str(path)!r} has no judged queries; it needs queries.NAME.jsonl and "
                "qrels.NAME.txt, as `ranklet judge` writes them"
            )
        splits = {name: _read_judged(collection, name) for name in names}
        return _drop_unknown(splits, documents, str(path))
    return _drop_unknown({"clicks": list(read_clicks(path))}, documents, str(path))


def _read_judged(collection: Collection, split: str) -> list[JudgedQuery]:
    """Return the queries of a split; none, with a warning, if none of them is judged."""
    if not any((collection.path / each.format(split)).is_file() for each in QRELS):
        warn(f"split {split!r} of {collection.path} has queries without qrels, and is left out")
        return []
    try:
        return read_split(collection, split, unanswered=True)
    except InputError as error:
        warn(f"{error}, and is left out")
        return []


def read_clicks(path: Path) -> Iterator[JudgedQuery]:
    """Yield the queries of a log of clicks, with the documents that were clicked often enough.

    A document at a low position is seen less often, so each of its clicks says more. A click at
    position p counts log₂(1 + p), the inverse of the discount of DCG (a position-based model with
    examination 1 / log₂(1 + p); Joachims et al. 2017, arXiv 1608.04468, §4). Without a
    position a click counts 1. A document is relevant if it has `CLICK_SHARE` of its query's
    weighted clicks.

    Raises:
        CollectionError: the file cannot be read, lacks a column, or a number is wrong.
        InputError: no query has enough clicks.
    """
    weights: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    counts: dict[str, float] = defaultdict(float)
    for record in _records(path):
        if isinstance(record, Bad):
            raise CollectionError(f"{record.place}: {record.found}")
        row = {name.strip().lower(): str(cell) for name, cell in record.fields.items()}
        if not {"query", "id", "clicks"} <= row.keys():
            raise CollectionError(
                f"{str(path)!r} has the columns {', '.join(row)}; a log of clicks needs {CLICKS}, "
                "and may have position"
            )
        query, name = row["query"].strip(), row["id"]
        if not is_decoded(query + name):
            raise CollectionError(f"{record.place} is not UTF-8; convert the file to UTF-8")
        clicks = _number(row["clicks"], record.place, least=0)
        position = row.get("position", "").strip()
        place = _number(position, record.place, least=1) if position else 1
        if query and name:
            weights[query][name] += clicks * math.log2(1 + place)
            counts[query] += clicks
    if max(counts.values(), default=0) < LEAST_CLICKS:
        raise InputError(
            f"{str(path)!r} has no query with {LEAST_CLICKS} clicks, and those with fewer are left "
            f"out; it has {len(counts):,} queries"
        )
    for number, (query, of_query) in enumerate(weights.items(), 1):
        total = sum(of_query.values())
        if counts[query] >= LEAST_CLICKS:
            relevant = [name for name, each in of_query.items() if each >= CLICK_SHARE * total > 0]
            if relevant:  # clicks all over a long list say nothing
                yield JudgedQuery(f"c{number}", query, dict.fromkeys(relevant, 1))


def _records(path: Path) -> Iterator[Any]:
    try:
        yield from read_table(path, "utf-8", header=True)
    except CollectionError as error:
        # What follows the fault names options of `ranklet build`. A path may have "; " in it.
        fault = str(path) + str(error).removeprefix(str(path)).partition("; ")[0]
        raise CollectionError(
            f"{fault}; a log of clicks is a .csv or .tsv file in UTF-8 whose first line names the "
            f"columns {CLICKS}, and perhaps position"
        ) from error


def _number(text: str, place: str, least: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf:
        raise CollectionError(f"{place}: {text!r:.60} must be a number from {least}")
    return value


def _drop_unknown(
    splits: Mapping[str, list[JudgedQuery]], documents: Documents, source: str
) -> Splits:
    """Leave out what the bundle does not have, and warn of it."""
    relevant = {name for queries in splits.values() for each in queries for name in each.relevant}
    gone = set(documents.lacking(relevant))
    found: Splits = {}
    lost = 0
    for split, queries in splits.items():
        kept = [
            JudgedQuery(each.id, each.text, left)
            for each in queries
            if (left := {name: grade for name, grade in each.relevant.items() if name not in gone})
            or not each.relevant
        ]
        lost += len(queries) - len(kept)
        if kept:
            found[split] = kept
    if not any(each.relevant for queries in found.values() for each in queries):
        why = "judge some that have one"
        if gone:
            why = (
                f"of its {len(relevant):,} relevant documents, {len(gone):,} are not in the "
                f"bundle, such as {min(gone)!r}"
            )
        raise InputError(
            f"{source!r} has no query with a relevant document that the bundle has; {why}"
        )
    if gone:
        warn(
            f"{len(gone):,} of {len(relevant):,} relevant documents are not in the bundle, so "
            f"{lost:,} queries are left out"
        )
    return found
