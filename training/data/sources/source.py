"""A source of documents: a file, a folder, a dataset, or an iterable."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ranklet.runtime.errors import CollectionError, InputError
from ranklet.training.data.collection import CORPUS, Document
from ranklet.training.data.sources import arrow, json_files, tables, text_files
from ranklet.training.data.sources.columns import SAMPLE, Columns, choose_columns
from ranklet.training.data.sources.opening import format_suffix
from ranklet.training.data.sources.options import SourceOptions
from ranklet.training.data.sources.passages import passages
from ranklet.training.data.sources.problems import Problems
from ranklet.training.data.sources.records import Bad, Record, Records, is_decoded, not_decoded

Texts = str | os.PathLike[str] | Iterable[str | Mapping[str, Any]]

_log = logging.getLogger(__name__)

SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "json", ".parquet": "parquet",
    **dict.fromkeys(text_files.TEXTS, "text"),
}  # fmt: skip


class Source:
    """Documents of any form.

    Args:
        texts: the path of a file or a folder, or texts, or objects with a text.
        options: how they are read.
        announce: is called with the columns once they are chosen, because some may be guessed.

    Attributes:
        name: the file's or folder's name, for messages and the bundle's provenance.
        problems: what was wrong so far; complete after `documents` has ended.

    Raises:
        CollectionError: the path does not exist, or its format is not known.
        InputError: the texts are neither a path nor an iterable.
    """

    def __init__(
        self,
        texts: Texts,
        options: SourceOptions | None = None,
        announce: Callable[[str], None] = _log.info,
    ) -> None:
        self._announce = announce
        self.options = options or SourceOptions()
        self.problems = Problems()
        self.columns: Columns | None = None
        if isinstance(texts, str | os.PathLike):
            path = Path(texts)
            self.name = path.absolute().name
            self._records = _of_path(path, self.options)
        elif isinstance(texts, Iterable) and not isinstance(texts, bytes | Mapping):
            self.name = "documents"
            self._records = _of_objects(texts)
        else:
            raise InputError(
                f"documents must be a path or a list of texts, not {type(texts).__name__}"
            )

    def documents(self) -> Iterator[Document]:
        """Yield the documents in their order; a long one as passages that share its id.

        Raises:
            CollectionError: something is wrong, and `skip_bad` is not set; the message counts all
                faults and names the first places. Or nothing remains.
            InputError: a column does not exist, or no column looks like a text.
        """
        records = iter(self._records)
        first = list(islice(records, SAMPLE))
        rows = [record.fields for record in first if isinstance(record, Record)]
        if rows:
            self.columns = choose_columns(rows, self.options, self.name)
            self._announce(f"{self.name}: {self.columns}")
        count = 0
        for document in self._checked(chain(first, records)):
            count += 1
            for part in passages(
                document.text, self.options.passage_words, self.options.overlap_words
            ):
                yield document._replace(text=part)
        bad = self.problems.counts.total()
        if bad and not self.options.skip_bad:
            raise CollectionError(
                f"{bad:,} of {count + bad:,} documents of {self.name} cannot be used:\n"
                f"{self.problems}\n{self.problems.hint()}"
            )
        if not count:
            raise CollectionError(f"{self.name} has no document\n{self.problems}".rstrip())
        if bad:
            _log.warning("left out %s documents:\n%s", f"{bad:,}", self.problems)

    def _checked(self, records: Records) -> Iterator[Document]:
        ids = set[str]()
        for number, record in enumerate(records, start=1):
            result = record if isinstance(record, Bad) else self._document(record, number)
            if isinstance(result, Document) and result.id in ids:
                result = Bad(record.place, "duplicate", repr(result.id))
            if isinstance(result, Bad):
                self.problems.add(result)
                continue
            ids.add(result.id)
            yield result

    def _document(self, record: Record, number: int) -> Document | Bad:
        columns = self.columns
        if columns is None:  # unreachable, because a record has chosen them
            raise CollectionError(f"{self.name} has no columns")
        name = record.fields.get(columns.id) if columns.id else number
        if name is None or name == "" or not isinstance(name, str | int) or name is True:
            return Bad(record.place, "no id", f"{columns.id} is {name!r:.40}")
        values = {}
        for key, column in (("title", columns.title), ("text", columns.text)):
            value = as_text(record.fields.get(column)) if column else ""
            if value is None:
                kind = type(record.fields[column]).__name__
                return Bad(record.place, "broken", f"{column} is of type {kind}")
            values[key] = value
        document = Document(str(name), **values)
        for value in document:
            if not is_decoded(value):
                return not_decoded(record.place, value)
        if not (document.title.strip() or document.text.strip()):
            return Bad(record.place, "empty", f"{columns.text} is {document.text!r:.20}")
        return document


def as_text(value: object) -> str | None:
    r"""Return a field's value as a text, or None if it cannot be one.

    >>> as_text(None), as_text(1998), as_text(["One.", "Two."]), as_text({})
    ('', '1998', 'One.\nTwo.', None)
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return None


def _of_objects(texts: Iterable[object]) -> Records:
    for number, value in enumerate(texts, start=1):
        yield json_files.as_record(f"documents[{number - 1}]", value)


def _of_path(path: Path, options: SourceOptions) -> Records:
    try:
        found = path.exists()
    except (OSError, ValueError):  # too long, or with a zero byte
        found = False
    if not found:
        raise CollectionError(f"{path} does not exist; give a file or a folder of documents")
    if path.is_dir():
        return _of_folder(path, options)
    kind = options.format if options.format != "auto" else SUFFIXES.get(format_suffix(path))
    if kind is None:
        raise CollectionError(
            f"{path}: the format of {format_suffix(path) or 'a file without an ending'} is not "
            f"known; pass --format {', '.join(sorted(set(SUFFIXES.values())))}"
        )
    return _of_file(path, kind, options)


def _of_file(path: Path, kind: str, options: SourceOptions) -> Records:
    if kind in ("csv", "tsv"):
        return tables.read_table(path, options.encoding, header=options.header)
    if kind == "jsonl":
        return json_files.read_json_lines(path, options.encoding)
    if kind == "json":
        return json_files.read_json(path, options.encoding)
    if kind == "parquet":
        return arrow.read_parquet(path)
    return text_files.read_texts([path], path.parent, options.encoding)


def _of_folder(folder: Path, options: SourceOptions) -> Records:
    corpus = next((folder / name for name in CORPUS if (folder / name).is_file()), None)
    if corpus is not None:
        return _of_file(corpus, "jsonl", options)
    if arrow.is_dataset(folder):
        return arrow.read_dataset(folder)
    by_format: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") for part in below):
            kind = SUFFIXES.get(format_suffix(path), "")
            if options.format in ("auto", kind):
                by_format.setdefault(kind, []).append(path)
    if other := by_format.pop("", []):
        endings = sorted({path.suffix or "no ending" for path in other})
        _log.warning(
            "%s: %s files with other endings are not read (%s)",
            folder, f"{len(other):,}", ", ".join(endings[:8]),
        )  # fmt: skip
    if not by_format:
        raise CollectionError(
            f"{folder} has no file that can be read; the endings are {', '.join(SUFFIXES)}"
        )
    if len(by_format) > 1:
        counts = ", ".join(f"{len(paths):,} of {kind}" for kind, paths in by_format.items())
        raise CollectionError(
            f"{folder} has files of several formats ({counts}); pass --format with one of them"
        )
    ((kind, paths),) = by_format.items()
    if kind == "text":
        return text_files.read_texts(paths, folder, options.encoding)
    return chain.from_iterable(_of_file(path, kind, options) for path in paths)
