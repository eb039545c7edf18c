r"""A collection: a folder of documents, queries and judgements in BEIR form.

    corpus.jsonl           {"_id": "d1", "title": "...", "text": "..."}      one document a line
    queries.SPLIT.jsonl    {"_id": "q1", "text": "..."}                      one query a line
    qrels.SPLIT.txt        TREC or BEIR lines, see ranklet.training.data.trec

Also read: ``id`` for ``_id``; ``queries.jsonl``, which holds the queries of all splits;
``qrels.SPLIT.tsv``, ``qrels/SPLIT.tsv`` and ``qrels/SPLIT.txt``; each of them with ``.gz`` behind.
Where several are there, the first in the order of these lists is read.
"""

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.runtime.errors import CollectionError
from ranklet.training.data.trec import (
    check_id,
    check_text,
    read_lines,
    read_qrels,
    write_lines,
    write_qrels,
)

CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")
SPLIT_QUERIES = ("queries.{}.jsonl", "queries.{}.jsonl.gz")
ALL_QUERIES = ("queries.jsonl", "queries.jsonl.gz")
QRELS = tuple(
    stem + suffix + packed
    for stem, suffixes in (("qrels.{}", (".txt", ".tsv")), ("qrels/{}", (".tsv", ".txt")))
    for suffix in suffixes
    for packed in ("", ".gz")
)
SPLIT_NAME = re.compile(r"[A-Za-z0-9_-]+")

Splits = Mapping[str, tuple[Sequence["Query"], Mapping[str, Mapping[str, int]]]]


class Document(NamedTuple):
    """A text to be found. The title may be empty, and so may the text."""

    id: str
    title: str
    text: str


class Query(NamedTuple):
    """A question to the collection; its text is never empty."""

    id: str
    text: str


class Collection:
    """A folder in BEIR form, read anew by every call: nothing is kept in memory.

    Args:
        path: The folder.

    Raises:
        CollectionError: The folder or its corpus is not there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise CollectionError(f"no folder {self.path}; a collection is a folder in BEIR form")
        self._corpus = self._find(CORPUS, "corpus")

    def __repr__(self) -> str:
        return f"Collection({str(self.path)!r})"

    def documents(self) -> Iterator[Document]:
        """Every document in the order of the file, read as they are asked for.

        Raises:
            CollectionError: A line is malformed or an id occurs twice; file and line are named.
        """
        for where, name, record in _records(self._corpus, "document"):
            title = record.get("title")
            text = _text(record, where)
            if title is not None and not isinstance(title, str):
                raise CollectionError(f"{where}: the title is {_kind(title)}, expected a string")
            yield Document(name, title or "", text)

    def queries(self, split: str) -> list[Query]:
        """The queries of a split in the order of their file.

        From ``queries.jsonl``, which holds all splits, those that the split's qrels name.

        Raises:
            CollectionError: No such split, no file of queries, a malformed line, or an id that
                occurs twice; file and line are named.
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

    def qrels(self, split: str) -> dict[str, dict[str, int]]:
        """Relevance grades of a split by query id and document id.

        Raises:
            CollectionError: No such split, no file of judgements, or a malformed line.
        """
        self._check(split)
        return read_qrels(self._find(QRELS, f"qrels of {split!r}", split))

    def splits(self) -> tuple[str, ...]:
        """The names of the splits, sorted: each has queries of its own, judgements, or both."""
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
            there = f"there are {', '.join(names)}" if names else "this collection has no splits"
            raise CollectionError(f"{self.path}: no split {split!r}; {there}")

    def _find(self, patterns: Sequence[str], what: str, split: str = "") -> Path:
        names = [pattern.format(split) for pattern in patterns]
        for name in names:
            if (self.path / name).is_file():
                return self.path / name
        raise CollectionError(f"{self.path}: no {what}; looked for {', '.join(names)}")


def write_collection(
    path: str | os.PathLike[str],
    documents: Iterable[Document],
    splits: Splits,
    *,
    overwrite: bool = False,
) -> Collection:
    """Write a collection; the folder appears whole or not at all.

    Args:
        path: The folder to make.
        documents: Read once, one at a time.
        splits: Queries and judgements by the name of the split (letters, digits, ``_``, ``-``).
        overwrite: Replace a collection that is already there, with all that its folder holds.
            Any other folder is left alone, unless it is empty.

    Raises:
        CollectionError: Something is there already, an id is unfit or occurs twice, a query is
            empty, a text cannot be written as UTF-8, a split has an unfit name, or the folder
            cannot be written.
    """
    target = Path(path).resolve()
    _check_target(target, overwrite)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.mkdir(parents=True)
        write_lines(partial / CORPUS[0], _lines(documents, "document"))
        for split, (queries, qrels) in splits.items():
            if not SPLIT_NAME.fullmatch(split):
                raise CollectionError(f"split {split!r}: expected letters, digits, _ and - only")
            write_lines(partial / SPLIT_QUERIES[0].format(split), _lines(queries, "query"))
            write_qrels(partial / QRELS[0].format(split), qrels)
        if target.exists():
            # A folder that holds files cannot be renamed over, so it first steps aside.
            aside = partial.with_suffix(".old")
            target.rename(aside)
            partial.rename(target)
            shutil.rmtree(aside)
        else:
            partial.rename(target)
    except OSError as error:
        raise CollectionError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Collection(path)


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise CollectionError(f"{target} is a file; give the name of a folder")
    if not overwrite:
        raise CollectionError(f"{target} is there already; give overwrite=True to replace it")
    # Replacing deletes, and a mistyped path must not cost somebody's home folder.
    if any(target.iterdir()) and not any((target / name).is_file() for name in CORPUS):
        raise CollectionError(
            f"{target} is no collection (it holds no {CORPUS[0]}), so it is not overwritten; "
            "give another name or remove it yourself"
        )


def _records(path: Path, what: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """FILE:LINE, the id and the JSON object of every line that is not blank."""
    seen: set[str] = set()
    for number, line in read_lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
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
        if name in seen:
            raise CollectionError(f"{where}: {what} id {name!r} occurs a second time")
        seen.add(name)
        # Only an escape can bring in what UTF-8 cannot hold: the line itself was UTF-8.
        if "\\u" in line:
            for key in ("title", "text"):
                check_text(str(record.get(key)), f"{where}: the {key}")
        yield where, name, record


def _text(record: dict[str, Any], where: str) -> str:
    text = record.get("text")
    if not isinstance(text, str):
        raise CollectionError(f"{where}: the text is {_kind(text)}, expected a string")
    return text


def _kind(value: object) -> str:
    return "missing or null" if value is None else f"of type {type(value).__name__}"


def _lines(records: Iterable[Document | Query], what: str) -> Iterator[str]:
    seen: set[str] = set()
    for record in records:
        check_id(record.id, f"{what} id")
        if record.id in seen:
            raise CollectionError(f"{what} id {record.id!r} occurs a second time")
        seen.add(record.id)
        for key, value in zip(record._fields[1:], record[1:], strict=True):
            check_text(value, f"{what} {record.id!r}: the {key}")
        if isinstance(record, Query) and not record.text.strip():
            raise CollectionError(f"the text of query {record.id!r} is empty")
        fields = dict(zip(("_id", *record._fields[1:]), record, strict=True))
        yield json.dumps(fields, ensure_ascii=False) + "\n"
