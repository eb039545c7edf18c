"""A source of documents: a file, a folder, a dataset, or an iterable of objects of Python.

What is wrong with a source is counted; a message says where, what was found and what to do.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.collection import Document, inner_fields
from ranklet.corpus.collections.opening import Position
from ranklet.corpus.collections.seen_ids import SeenIds
from ranklet.corpus.progress import Measured, progress
from ranklet.corpus.sources.cells import (
    Bad,
    Fault,
    Fields,
    Record,
    Records,
    as_id,
    as_text,
    is_decoded,
    not_decoded,
    texts_in,
)
from ranklet.corpus.sources.column_types import EXAMPLES, DeclaredColumns
from ranklet.corpus.sources.columns import SAMPLE, Columns, Survey, choose_columns, listed
from ranklet.corpus.sources.databases import SCHEME, Database, open_database_file
from ranklet.corpus.sources.frames import Table, is_table, make_rows
from ranklet.corpus.sources.guessed_types import say_guesses
from ranklet.corpus.sources.html import read_cell
from ranklet.corpus.sources.json_files import as_record, detect_kind, is_document, rows_by_id
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.passages import located
from ranklet.corpus.sources.paths import Files, list_source_files
from ranklet.corpus.sources.spool import Spool
from ranklet.corpus.sources.stores import Store, open_store
from ranklet.corpus.sources.text_files import EXAMPLE
from ranklet.corpus.sources.vectors import GivenVectors, refusal
from ranklet.runtime.answers.console import printable
from ranklet.runtime.bundles.manifest import NO_TYPES, UNSPLIT, Splitting
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.ground.options import check_type
from ranklet.runtime.storage.address import shown

# A path, texts or objects with a text, these by their ids, or a table of pandas, polars or Arrow.
Texts = str | os.PathLike[str] | Iterable[str | Mapping[str, Any]] | Mapping[str, Any] | Table

FINDING = "finding columns"  # the step's name in a progress bar

_log = logging.getLogger(__name__)

_NAMES: Mapping[Fault, tuple[str, str]] = {
    "broken": ("record cannot be read", "records cannot be read"),
    "encoding": ("text has another encoding", "texts have another encoding"),
    "no id": ("document has no id", "documents have no id"),
    "empty": ("document has no text", "documents have no text"),
    "duplicate": ("id occurs twice", "ids occur twice"),
    "vector": ("document has no vector", "documents have no vectors"),
}
_OTHER_ID = "pass another --id-column, or --id-column - to number the documents"
_HINTS: Mapping[Fault, str] = {
    "encoding": "pass --encoding, for example --encoding cp1252",
    "no id": _OTHER_ID,
    "duplicate": _OTHER_ID,
}


class Source:
    """Documents of any form.

    Args:
        texts: the path of a file or a folder, or some of its files, or texts, or objects with a
            text, or a dict of these by their ids.
        options: how they are read.
        announce: a function that is called with the columns once they are chosen, because some may
            be guessed.
        types: types of columns that others have declared, and that may be missing.
        fresh: whether a bundle is built of it. Then types of cells are guessed, and a column of a
            declared type must have a value.

    Attributes:
        name: the file's or folder's name, for messages and the bundle's provenance.
        types: all declared types of columns.
        problems: what was wrong so far; complete after `documents` has ended.
        vectors: what has a vector of each document; None if nobody else has computed them.
        titles: whether titles are part of the texts that are encoded.
        may_be_empty: whether no document is no error, as if an update only deletes.

    Raises:
        CollectionError: the path does not exist, or its format is not known.
        InputError: the texts are neither a path nor an iterable.
    """

    def __init__(
        self,
        texts: Texts | Files,
        options: SourceOptions | None = None,
        announce: Callable[[str], None] = _log.info,
        types: Mapping[str, str] = NO_TYPES,
        *,
        fresh: bool = False,
    ) -> None:
        self._fresh = fresh
        self._announce = announce
        self.options = SourceOptions() if options is None else options
        check_type("options", self.options, SourceOptions)
        self.types = {**types, **(self.options.types or {})}
        self._declared = DeclaredColumns(self.types)
        self.problems = Problems()
        self.may_be_empty = False
        self.vectors: GivenVectors | None = None
        self.titles = True
        self.columns: Columns | None = None
        self._wanted = self.options.metadata_fields()
        self._html = set[str]()  # names of columns whose cells are HTML
        self._others = set[str]()  # names of fields that were seen besides id, title and text
        if isinstance(texts, Files):
            self._given: Files | Database | Objects | Spool | Store = texts
            self.name = texts.folder.absolute().name
        elif isinstance(texts, str | os.PathLike):
            self._given, self.name = self._of_address(os.fspath(texts))
        elif is_table(texts):
            self.name = "documents"
            self._given = Objects(texts, make_rows)
        elif isinstance(texts, Mapping) and not is_document(texts):
            self.name = "documents"
            self._given = Objects(texts, rows_by_id)
        elif isinstance(texts, Iterable) and not isinstance(texts, bytes | Mapping):
            self.name = "documents"
            self._given = Objects(texts)
        else:
            raise InputError(
                f"documents must be a path or a list of texts, not {type(texts).__name__}; put one "
                "document into a list"
            )
        self._position = self._given.position()

    def _of_address(self, given: str) -> tuple[Files | Database | Store, str]:
        """Return what a path or an address names, and its name."""
        if (store := open_store(given)) is not None:
            return store, store.table or store.path.name
        if given.startswith(SCHEME):
            database = open_database_file(given)
            return database, database.path.name
        if not given or "://" in given:  # "" is a variable without value
            raise InputError(
                f"{shown(given)!r} is no path; give a file or a folder on this machine, or for "
                f"a table of SQLite {SCHEME}FILE"
            )
        path = Path(given)
        return list_source_files(path, self.options), path.absolute().name

    @property
    def splitting(self) -> Splitting:
        """How documents are split into passages; not where each has a vector from outside."""
        whole = self.vectors is not None and self.vectors.whole
        return UNSPLIT if whole else self.options.splitting

    @property
    def size(self) -> int:
        """How many bytes its files have; 0 if that is not known."""
        return self._position.total if isinstance(self._given, Files) else 0

    def _share(self) -> float | None:
        return self._position.share()

    def documents(self) -> Measured[Document]:
        """Yield the documents in their order; a long one as passages that share its id.

        Raises:
            CollectionError: see `whole`.
            InputError: see `whole`.
        """
        return Measured(self._passages(), self._share)

    def _passages(self) -> Iterator[Document]:
        found = chain.from_iterable(located(each, self.splitting) for each in self._documents())
        yield from (
            found if self.vectors is None else self.vectors.encode_each(found, titles=self.titles)
        )

    def whole(self) -> Measured[Document]:
        """Yield the documents in their order, unsplit.

        Everything is read twice, because only all records say which columns there are; of a table
        its beginning, if that says all. What can be read only once is kept in a temporary file.

        Raises:
            CollectionError: something is wrong, and `skip_bad` is not set; the message counts all
                faults and names the first places. Or nothing remains.
            InputError: a column does not exist, or no column looks like a text.
        """
        return Measured(self._documents(), self._share)

    def _documents(self) -> Iterator[Document]:
        self.problems = Problems()
        self.columns = self._choose_columns()
        self._declared = DeclaredColumns(self.types)
        count = 0
        for document in self._check(self._records()):
            count += 1
            yield document
        remarks = self._declared.remarks()
        lost = self._declared.list_lost() if self._fresh and count else []
        for remark in remarks:
            _log.warning("%s", remark)
        bad = self.problems.counts.total()
        if bad and not self.options.skip_bad:
            raise CollectionError(
                f"{bad:,} of {count + bad:,} documents of {self.name} cannot be used:\n"
                f"{self.problems}\n{self.problems.hint()}"
            )
        if bad and not count:
            raise CollectionError(f"no document of {self.name} can be used:\n{self.problems}")
        if not count and not self.may_be_empty:
            raise CollectionError(f"{self.name} has no document")
        if count:
            self._check_wanted()
        if lost:
            types = ", ".join(f"{name}={self.types[name]}" for name in lost)
            why = "".join(f"\n  {each}" for each in remarks)
            raise CollectionError(
                f"no value of {self.name} is of the type that --types {types} says; declare "
                f"another one, or leave it out{why}"
            )
        if bad:
            left_out = "1 document" if bad == 1 else f"{bad:,} documents"
            _log.warning("left out %s:\n%s", left_out, self.problems)

    def _choose_columns(self) -> Columns | None:
        """Return the columns and announce them; None if there are no records."""
        survey = Survey()
        if self._given.are_texts:
            survey.add(EXAMPLE, EXAMPLE)
        else:
            table = isinstance(self._given, Files) and self._given.is_table and self._given.twice
            with closing(progress(Measured(self._survey(), self._share), FINDING)) as records:
                for number, record in enumerate(records, start=1):
                    if isinstance(record, Record):
                        survey.add(self._without_vector(record.fields), record.fields)
                    if table and not self._fresh and number == SAMPLE and survey.is_settled:
                        break
        if not survey.present:
            return None
        columns = choose_columns(survey, self.options, self.name)
        self._announce(f"{self.name}: {columns}")
        used = {columns.id, columns.title, *columns.text}
        if self.options.html is not False and not self._given.are_texts:
            others = [each for each in survey.present if each != columns.id]
            self._html = {each for each in others if self.options.html or survey.has_html(each)}
            if self._html and self.options.html is None:
                named = ", ".join(map(repr, self._html))
                self._announce(f"{self.name}: HTML is read in {named}; --no-html keeps its tags")
        if self._fresh and survey.guesses and self._wanted != ():
            kept = [
                each for each in survey.guesses
                if each not in {*used, *self.types} and each in (self._wanted or survey.guesses)
            ]  # fmt: skip
            types, said = say_guesses(survey.guesses, kept)
            self.types |= types
            if said:
                self._announce(f"{self.name}: {said}")
        return columns

    def _survey(self) -> Records:
        """Yield the records for the first time."""
        if self._given.twice:
            yield from self._records()
            return
        spool = Spool()
        yield from spool.copied(self._records())
        self._given = spool

    def _records(self) -> Records:
        """Yield the records.

        Raises:
            CollectionError: the memory does not suffice for one.
        """
        self._position = self._given.position()
        place = "the beginning"
        try:
            for record in self._given.records(self._position):
                place = record.place
                yield record
        except MemoryError:
            raise CollectionError(
                f"the memory does not suffice to read {self.name} after {place}; divide what "
                "follows into shorter documents"
            ) from None

    def _check(self, records: Records) -> Iterator[Document]:
        ids, number = SeenIds(), 0
        for number, record in enumerate(records, start=1):
            result = record if isinstance(record, Bad) else self._document(record, number)
            given = self.columns is not None and self.columns.id  # numbers come once
            if given and isinstance(result, Document) and not ids.add(result.id):
                result = Bad(record.place, "duplicate", repr(result.id))
            if isinstance(result, Bad):
                self.problems.add(result)
                continue
            yield result
        if self.vectors is not None:
            self.vectors.check_count(number)

    def _without_vector(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields of a record but for a vector's column."""
        fields = inner_fields(record)
        if self.vectors is None or self.vectors.column not in fields:
            return fields
        return {name: each for name, each in fields.items() if name != self.vectors.column}

    def _document(self, record: Record, number: int) -> Document | Bad:
        columns = self.columns
        if columns is None:  # unreachable, because a record has chosen them
            raise CollectionError(f"{self.name} has no columns")
        fields = self._without_vector(record.fields)
        if self._html:
            fields = {
                key: read_cell(value) if key in self._html else value
                for key, value in fields.items()
            }
        raw_id = fields.get(columns.id) if columns.id else number
        name = as_id(raw_id)
        if name is None:
            return Bad(record.place, "no id", f"{columns.id} is {raw_id!r:.40}")
        texts = {}
        for column in filter(None, (columns.title, *columns.text)):
            value = as_text(fields.get(column))
            if value is None:
                kind = detect_kind(fields[column])
                return Bad(record.place, "broken", f"{column} is {kind} and not a text")
            texts[column] = value
        text = "\n\n".join(filter(str.strip, (texts[column] for column in columns.text)))
        values = {"id": name, "title": texts.get(columns.title, ""), "text": text}
        for key, value in values.items():
            if not is_decoded(value):
                return not_decoded(record.place, value, key)
        metadata = self._metadata(fields, columns)
        metadata.place = record.place
        for key, other in metadata.items():
            for each in (key, *texts_in(other)):
                if not is_decoded(each):
                    return not_decoded(record.place, each, key if is_decoded(key) else "a name")
        self._declared.read(metadata, record.place)
        headings = record.headings if text == fields.get("text") else ()
        document = Document(
            values["id"], values["title"], values["text"], metadata, headings=headings
        )
        if not (document.title.strip() or document.text.strip()):
            empty = " and ".join(f"{each} is {texts[each]!r:.20}" for each in columns.text)
            return Bad(record.place, "empty", empty)
        if self.vectors is None or not self.vectors.whole:
            return document
        try:
            vector = self.vectors.read(number - 1, name, inner_fields(record.fields))
        except ValueError as error:
            if self.options.skip_bad:
                return Bad(record.place, "vector", f"{name!r:.80}: {error}")
            more = "correct it, or pass --skip-bad to leave such documents out"
            raise CollectionError(
                printable(f"{record.place}: {refusal(name, str(error))}; {more}")
            ) from None
        return document._replace(vector=vector)

    def _metadata(self, fields: Mapping[str, Any], columns: Columns) -> Fields:
        """Return the chosen fields besides id, title and text."""
        if self._wanted == ():
            return Fields()
        others = Fields(fields)
        for name in filter(None, (columns.id, columns.title, *columns.text)):
            others.pop(name, None)
        if self._wanted or self.options.types:
            self._others |= others.keys()
        if self._wanted is None:
            return others
        return Fields((name, others[name]) for name in self._wanted if name in others)

    def _check_wanted(self) -> None:
        for flag, names in (("metadata", self._wanted), ("types", self.options.types)):
            if lacking := [name for name in names or () if name not in self._others]:
                raise InputError(
                    f"{self.name} has no column {lacking[0]!r} (--{flag}) besides id, title and "
                    f"text; it has {listed(dict.fromkeys(sorted(self._others)))}"
                )


def source_of(documents: Texts | Source, options: SourceOptions | None) -> Source:
    """Return a source of texts, or one that was given.

    Raises:
        InputError: options are given with a source, which has its own.
        CollectionError: see `Source`.
    """
    if not isinstance(documents, Source):
        return Source(documents, options, fresh=True)
    if options is not None:
        raise InputError("a Source says itself how it is read; leave options out")
    return documents


class Problems:
    """The faults of a source, with the first places of each."""

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()
        self._examples: dict[Fault, list[Bad]] = {}

    def add(self, bad: Bad) -> None:
        """Count a fault."""
        self.counts[bad.fault] += 1
        examples = self._examples.setdefault(bad.fault, [])
        if len(examples) < EXAMPLES:
            examples.append(bad)

    def __str__(self) -> str:
        """Describe every fault on one line each."""
        return "\n".join(self._line(fault) for fault in self.counts)

    def _line(self, fault: Fault) -> str:
        count, examples = self.counts[fault], self._examples[fault]
        places = ", ".join(f"{bad.place} ({bad.found})" for bad in examples)
        more = ", …" if count > len(examples) else ""
        return printable(f"  {count:,} {_NAMES[fault][count > 1]}: {places}{more}")

    def hint(self) -> str:
        """Return what to type."""
        hints = dict.fromkeys(_HINTS[fault] for fault in self.counts if fault in _HINTS)
        return "; ".join(["Correct them", *hints, "or pass --skip-bad to leave them out"])


@dataclass(frozen=True)
class Objects:
    """Texts, objects with a text, or a table.

    Attributes:
        texts: all of them.
        rows: returns them one by one.
    """

    texts: Any
    rows: Callable[[Any], Iterable[object]] = iter
    are_texts: bool = False

    @property
    def twice(self) -> bool:
        """Whether they can be read twice. Others may be at their end, although no error says so."""
        return isinstance(self.texts, Sized) and hasattr(self.texts, "__getitem__")

    def position(self) -> Position:
        """Return a position at the beginning."""
        return Position(len(self.texts) if isinstance(self.texts, Sized) else 0)

    def records(self, position: Position) -> Records:
        """Yield the records."""
        for number, value in enumerate(self.rows(self.texts)):
            position.done = number + 1
            yield as_record(f"documents[{number}]", value)
