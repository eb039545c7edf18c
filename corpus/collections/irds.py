"""Collections of ir_datasets, written in the form that everything here reads."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import hint_packages

TEXTS = ("text", "body", "abstract", "contents")  # the first field that a document has


def write_dataset(
    path: str | Path, splits: Mapping[str, str], *, overwrite: bool = False
) -> Collection:
    """Write a collection with the documents, queries and judgements of ir_datasets.

    ir_datasets downloads what it does not have. Its texts have licences of their own.

    >>> write_dataset("scifact", {"test": "beir/scifact/test"})  # doctest: +SKIP

    Args:
        path: the folder to create.
        splits: names of judged datasets by the split that they become; all have the same documents.
        overwrite: replace a collection that is there.

    Raises:
        MissingPackageError: ir_datasets is not installed.
        InputError: a dataset is unknown, or has no documents, queries or judgements; or two have
            different documents.
        CollectionError: see `write_collection`.
    """
    found = {split: _load(name) for split, name in splits.items()}
    if not found:
        raise InputError("no dataset was named; give {'test': 'beir/scifact/test'}, for example")
    if len({each.docs_namespace() for each in found.values()}) > 1:
        raise InputError(
            f"{' and '.join(map(repr, splits.values()))} have different documents; write a "
            "collection of each"
        )
    queries = {split: (_queries(each), _read_grades(each)) for split, each in found.items()}
    return write_collection(
        path, _documents(next(iter(found.values()))), queries, overwrite=overwrite
    )


def _load(name: str) -> Any:
    with hint_packages():
        import ir_datasets
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError(f"ir_datasets has no {name!r}; see https://ir-datasets.com") from error
    for part in ("docs", "queries", "qrels"):
        if not getattr(dataset, f"has_{part}")():
            raise InputError(
                f"{name!r} of ir_datasets has no {part}; name a judged subset, such as {name}/test"
            )
    return dataset


def _documents(dataset: Any) -> Iterator[Document]:
    for each in dataset.docs_iter():
        fields = each._asdict()
        texts = [fields[name] for name in TEXTS if isinstance(fields.get(name), str)]
        text = texts[0] if texts else each.default_text()
        yield Document(each.doc_id, fields.get("title") or "" if texts else "", text)


def _queries(dataset: Any) -> list[Query]:
    return [Query(each.query_id, each.default_text()) for each in dataset.queries_iter()]


def _read_grades(dataset: Any) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for each in dataset.qrels_iter():
        of_query, grade = judged.setdefault(each.query_id, {}), int(each.relevance)
        # A document is judged for each subtopic of a query, and relevant if it is for one of them.
        of_query[each.doc_id] = max(grade, of_query.get(each.doc_id, grade))
    return judged
