r"""Read and write collections, which are folders of documents, queries and judgements in BEIR form.

    corpus.jsonl           {"_id": "d1", "title": "...", "text": "..."}      one document per line
    queries.SPLIT.jsonl    {"_id": "q1", "text": "..."}                      one query per line
    qrels.SPLIT.txt        TREC or BEIR lines, see ranklet.corpus.collections.trec

``id`` may replace ``_id``. ``queries.jsonl`` may hold the queries of all splits, and
``topics.SPLIT.txt`` has TREC topics in the place of queries. Judgements may
also be in ``qrels.SPLIT.tsv``, ``qrels/SPLIT.tsv`` or ``qrels/SPLIT.txt``. Every name may end in
``.gz``. If several of these files exist, the first one in the order of the constants below is read.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.headings import Headings
from ranklet.corpus.collections.seen_ids import SeenIds
from ranklet.corpus.collections.topics import read_topics
from ranklet.corpus.collections.trec import (
    check_id,
    check_text,
    read_lines,
    read_qrels,
    write_lines,
    write_qrels,
)
from ranklet.runtime.bundles.manifest import NO_TYPES, UNSPLIT, Splitting
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.ground.options import check_type
from ranklet.runtime.ground.strict_json import DECODER
from ranklet.runtime.writing.atomic_folder import atomic_folder
from ranklet.runtime.writing.strangers import files_in, matching, refuse_strangers

CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")
TOPICS = ("topics.{}.txt", "topics.{}.txt.gz")
SPLIT_QUERIES = ("queries.{}.jsonl", "queries.{}.jsonl.gz", *TOPICS)
ALL_QUERIES = ("queries.jsonl", "queries.jsonl.gz")
QRELS = tuple(
    stem + suffix + packed
    for stem, suffixes in (("qrels.{}", (".txt", ".tsv")), ("qrels/{}", (".tsv", ".txt")))
    for suffix in suffixes
    for packed in ("", ".gz")
)
_BELONGS = matching(*CORPUS, *ALL_QUERIES, *(each.format("*") for each in (*SPLIT_QUERIES, *QRELS)))
SPLIT_NAME = re.compile(r"[A-Za-z0-9_-]+")
_OWN = ("_id", "id", "title", "text")  # fields of a document that are no metadata

Splits = Mapping[str, tuple[Sequence["Query"], Mapping[str, Mapping[str, int]]]]


class Document(NamedTuple):
    """A document of the collection. Its title and its text may be empty.

    `metadata` has its other fields, as the source holds them. Missing ones may be None. `headings`
    are those of a whole document, as far as its file has some, and `location` is where a passage
    stands in its document, as a bundle stores it; "" if it is whole. `vector` is its vector, if
    somebody else has computed it.
    """

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = {}  # never changed
    headings: Headings = ()
    location: str = ""
    vector: NDArray[np.float32] | None = None  # (dimension,)


class Query(NamedTuple):
    """A query of the collection. Its text is never empty."""

    id: str
    text: str


class Collection:
    """A folder in BEIR form. Every call reads the files again, so nothing is kept in memory.

    Args:
        path: the folder.
        documents: whether it must have documents, and not only judged queries.

    Raises:
        CollectionError: the folder or its corpus does not exist.
    """

    def __init__(self, path: str | os.PathLike[str], *, documents: bool = True) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise CollectionError(
                f"{self.path} is no folder; give judged queries as a folder in BEIR form "
                "(docs/your-own-data.md)"
            )
        self._corpus = self._find(CORPUS, "corpus") if documents else self.path / CORPUS[0]

    def __repr__(self) -> str:
        return f"Collection({str(self.path)!r})"

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    types: Mapping[str, str] = NO_TYPES  # of columns; JSON says what a value is

    @property
    def splitting(self) -> Splitting:
        """How its documents are split into passages: they are not."""
        return UNSPLIT

    def documents(self) -> Iterator[Document]:
        """Yield every document in the order of the file, reading one at a time.

        Raises:
            CollectionError: a line is malformed or an id occurs twice; names file and line.
        """
        for where, name, record in _records(self._corpus, "document"):
            title = record.get("title")
            text = _text(record, where)
            if title is not None and not isinstance(title, str):
                raise CollectionError(f"{where}: the title is {_kind(title)}, expected a string")
            yield Document(name, title or "", text, _metadata(record))

    def lacking(self, ids: Iterable[str]) -> set[str]:
        """Return the ids that no document has. Reading stops once all others were found.

        Raises:
            CollectionError: as `documents`, or there is no document at all.
        """
        missing, document = set(ids), None
        for document in self.documents():
            missing.discard(document.id)
            if not missing:
                break
        if document is None:
            raise CollectionError(f"{self._corpus}: there is no document; give one per line")
        return missing

    def queries(self, split: str) -> list[Query]:
        """Return the queries of a split in the order of their file.

        From ``queries.jsonl``, which holds all splits, return the queries in the split's qrels.

        Raises:
            CollectionError: the split or its query file does not exist, a line is malformed, or an
                id occurs twice; names file and line.
        """
        self._check(split)
        path = self._find((*SPLIT_QUERIES, *ALL_QUERIES), f"queries of {split!r}", split)
        judged = self.qrels(split) if path.name in ALL_QUERIES else None
        queries: list[Query] = []
        for where, name, record in _records(path, "query"):
            text = _text(record, where)
            if not text.strip():
                raise CollectionError(f"{where}: the text of query {name!r} is empty")
            if judged is None or name in judged:
                queries.append(Query(name, text))
        return queries

    def every_query(self) -> Iterator[Query]:
        """Yield the queries of all files, judged or not; one may be in several.

        Raises:
            CollectionError: a line is malformed; names file and line.
        """
        for pattern in (*SPLIT_QUERIES, *ALL_QUERIES):
            for path in sorted(self.path.glob(pattern.format("*"))):
                for where, name, record in _records(path, "query"):
                    yield Query(name, _text(record, where))

    def qrels(self, split: str) -> dict[str, dict[str, int]]:
        """Return the relevance grades of a split by query id and document id.

        Raises:
            CollectionError: the split or its qrels file does not exist, or a line is malformed.
        """
        self._check(split)
        return read_qrels(self._find(QRELS, f"qrels of {split!r}", split))

    def splits(self) -> tuple[str, ...]:
        """Return the sorted names of all splits that have a query file, a qrels file or both."""
        names: set[str] = set()
        for pattern in (*SPLIT_QUERIES, *QRELS):
            before, after = pattern.split("{}")
            for path in self.path.glob(pattern.format("*")):
                name = path.relative_to(self.path).as_posix()[len(before) : -len(after)]
                if SPLIT_NAME.fullmatch(name):
                    names.add(name)
        return tuple(sorted(names))

    def _check(self, split: str) -> None:
        names = self.splits()
        if split not in names:
            known = "it has no queries.NAME.jsonl and no qrels.NAME.txt"
            if names:
                known = f"there are {', '.join(names)}"
            raise CollectionError(f"{self.path}: no split {split!r}; {known}")

    def _find(self, patterns: Sequence[str], what: str, split: str = "") -> Path:
        names = [pattern.format(split) for pattern in patterns]
        for name in names:
            if (self.path / name).is_file():
                return self.path / name
        raise CollectionError(f"{self.path}: no {what}; looked for {', '.join(names)}")


def is_collection(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder in BEIR form."""
    return any((Path(path) / name).is_file() for name in CORPUS)


def write_collection(
    path: str | os.PathLike[str],
    documents: Iterable[Document],
    splits: Splits,
    *,
    overwrite: bool = False,
) -> Collection:
    """Write a collection; the folder appears complete or not at all.

    Args:
        path: the folder to create.
        documents: the documents, which are read once, one at a time.
        splits: queries and judgements by split name (letters, digits, ``_``, ``-``).
        overwrite: replace an existing collection, whose folder holds nothing else. Any other folder
            is replaced only if it is empty.

    Raises:
        CollectionError: the path exists, an id is invalid or occurs twice, a query is empty, a text
            cannot be written as UTF-8, a split name is invalid, or the folder cannot be written.
    """
    try:
        with atomic_folder(Path(path), partial(_check_target, overwrite=overwrite)) as folder:
            write_lines(folder / CORPUS[0], record_lines(documents, "document"))
            for split, (queries, qrels) in splits.items():
                if not SPLIT_NAME.fullmatch(split):
                    raise CollectionError(f"split {split!r}: use only letters, digits, _ and -")
                write_lines(folder / SPLIT_QUERIES[0].format(split), record_lines(queries, "query"))
                write_qrels(folder / QRELS[0].format(split), qrels)
    except OSError as error:
        raise CollectionError(f"{path}: cannot be written ({error.strerror or error})") from error
    return Collection(path)


def _check_target(target: Path, *, overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise CollectionError(f"{target} is a file; give the name of a folder")
    if not overwrite:
        raise CollectionError(f"{target} already exists; pass overwrite=True to replace it")
    # Replacing deletes files, and a mistyped path must not delete somebody's home folder.
    if any(target.iterdir()) and not any((target / name).is_file() for name in CORPUS):
        raise CollectionError(
            f"{target} is not a collection (it has no {CORPUS[0]}), so it is not overwritten. "
            "Give another name or remove it yourself"
        )
    refuse_strangers(target, files_in(target), _BELONGS, "collection", CollectionError)


def _records(path: Path, what: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield FILE:LINE, the id and the JSON object of every line that is not blank."""
    seen = SeenIds()
    for number, line in _lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            raise CollectionError(f"{where}: not JSON ({error}); expected an object") from None
        if not isinstance(record, dict):
            raise CollectionError(f'{where}: {_kind(record)}, expected an object {{"_id": …}}')
        name = record.get("_id", record.get("id"))
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if not isinstance(name, str):
            raise CollectionError(
                f"{where}: the {what} id (_id or id) is {_kind(name)}, expected a string"
            )
        check_id(name, f"{where}: {what} id")
        if not seen.add(name):
            raise CollectionError(f"{where}: {what} id {name!r} occurs twice")
        # The line was UTF-8, so only an escape can introduce a lone surrogate.
        if "\\u" in line:
            for key in record if what == "document" else ("title", "text"):
                check_text(key, f"{where}: the name of a field")
                value = record.get(key)
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                check_text(text, f"{where}: the {key}")
        yield where, name, record


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file; those of topics are made of them."""
    if not path.name.startswith("topics."):
        yield from read_lines(path)
        return
    for number, (name, text) in enumerate(read_topics(path), 1):
        yield number, json.dumps({"_id": name, "text": text})


def _text(record: dict[str, Any], where: str) -> str:
    text = record.get("text")
    if not isinstance(text, str):
        raise CollectionError(f"{where}: the text is {_kind(text)}, expected a string")
    return text


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a document besides id, title and text."""
    others = {name: each for name, each in record.items() if name not in _OWN}
    if "_id" in record and "id" in record:
        others["id"] = record["id"]
    return inner_fields(others)


def inner_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields, where those in an object ``metadata`` stand next to the others.

    A field that stands in both is the outer one.

    >>> inner_fields({"year": 1, "metadata": {"url": "x", "year": 2}})
    {'url': 'x', 'year': 1}
    """
    inner = fields.get("metadata")
    if not isinstance(inner, Mapping):
        return dict(fields)
    outer = {name: value for name, value in fields.items() if name != "metadata"}
    return {**{str(name): value for name, value in inner.items()}, **outer}


def _kind(value: object) -> str:
    return "missing or null" if value is None else f"of type {type(value).__name__}"


def record_lines(records: Iterable[Document | Query], what: str) -> Iterator[str]:
    """Yield a JSON line per record; `what` names the records in messages.

    Raises:
        CollectionError: an id is invalid or occurs twice, a query is empty, or a text cannot be
            written as UTF-8.
    """
    seen = SeenIds()
    for record in records:
        check_type(f"a {what}", record, Query if what == "query" else Document)
        check_id(record.id, f"{what} id")
        if not seen.add(record.id):
            raise CollectionError(f"{what} id {record.id!r} occurs twice")
        fields = record._asdict()
        metadata = fields.pop("metadata", {})
        fields = {name: fields[name] for name in ("id", "title", "text") if name in fields}
        fields = {"_id": fields.pop("id"), **fields}
        for key, value in fields.items():
            check_text(value, f"{what} {record.id!r}: the {key.removeprefix('_')}")
        if isinstance(record, Query) and not record.text.strip():
            raise CollectionError(f"the text of query {record.id!r} is empty")
        more = {"metadata": metadata} if metadata else {}
        line = json.dumps(fields | more, ensure_ascii=False, default=str)
        check_text(line, f"{what} {record.id!r}: the metadata")
        yield line + "\n"
