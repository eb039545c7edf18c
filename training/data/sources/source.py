"""A source of documents: a file, a folder, a dataset, or an iterable."""

import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.storage.manifest import Splitting
from ranklet.training.data.cells import texts_in
from ranklet.training.data.collection import Document, inner_fields
from ranklet.training.data.seen_ids import SeenIds
from ranklet.training.data.sources.columns import SAMPLE, Columns, choose_columns, listed
from ranklet.training.data.sources.json_files import as_record, kind_of
from ranklet.training.data.sources.options import SourceOptions
from ranklet.training.data.sources.passages import passages
from ranklet.training.data.sources.paths import records_of
from ranklet.training.data.sources.problems import Problems
from ranklet.training.data.sources.records import Bad, Record, Records, is_decoded, not_decoded

Texts = str | os.PathLike[str] | Iterable[str | Mapping[str, Any]]

_log = logging.getLogger(__name__)


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
        self._wanted = self.options.metadata_fields()
        self._others = set[str]()  # names of fields that were seen besides id, title and text
        if isinstance(texts, str | os.PathLike):
            path = Path(texts)
            self.name = path.absolute().name
            self._records = records_of(path, self.options)
        elif hasattr(texts, "columns"):  # an iterator over it yields columns and not rows
            raise InputError("documents are a table; pass its rows, as frame.to_dict('records')")
        elif isinstance(texts, Iterable) and not isinstance(texts, bytes | Mapping):
            self.name = "documents"
            self._records = _of_objects(texts)
        else:
            raise InputError(
                f"documents must be a path or a list of texts, not {type(texts).__name__}"
            )

    @property
    def splitting(self) -> Splitting:
        """How documents are split into passages."""
        return Splitting(self.options.passage_words, self.options.overlap_words)

    def documents(self) -> Iterator[Document]:
        """Yield the documents in their order; a long one as passages that share its id.

        Raises:
            CollectionError: see `whole`.
            InputError: see `whole`.
        """
        for document in self.whole():
            for part in passages(document.text, *self.splitting):
                yield document._replace(text=part)

    def whole(self) -> Iterator[Document]:
        """Yield the documents in their order, and none of them split.

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
            yield document
        self._check_wanted()
        bad = self.problems.counts.total()
        if bad and not self.options.skip_bad:
            raise CollectionError(
                f"{bad:,} of {count + bad:,} documents of {self.name} cannot be used:\n"
                f"{self.problems}\n{self.problems.hint()}"
            )
        if bad and not count:
            raise CollectionError(f"no document of {self.name} can be used:\n{self.problems}")
        if not count:
            raise CollectionError(f"{self.name} has no document")
        if bad:
            left_out = "1 document" if bad == 1 else f"{bad:,} documents"
            _log.warning("left out %s:\n%s", left_out, self.problems)

    def _checked(self, records: Records) -> Iterator[Document]:
        ids = SeenIds()
        for number, record in enumerate(records, start=1):
            result = record if isinstance(record, Bad) else self._document(record, number)
            if isinstance(result, Document) and not ids.add(result.id):
                result = Bad(record.place, "duplicate", repr(result.id))
            if isinstance(result, Bad):
                self.problems.add(result)
                continue
            yield result

    def _document(self, record: Record, number: int) -> Document | Bad:
        columns = self.columns
        if columns is None:  # unreachable, because a record has chosen them
            raise CollectionError(f"{self.name} has no columns")
        found = record.fields.get(columns.id) if columns.id else number
        name = as_id(found)
        if name is None:
            return Bad(record.place, "no id", f"{columns.id} is {found!r:.40}")
        values: dict[str, str] = {"id": name}
        for key, column in (("title", columns.title), ("text", columns.text)):
            value = as_text(record.fields.get(column)) if column else ""
            if value is None:
                kind = kind_of(record.fields[column])
                return Bad(record.place, "broken", f"{column} is {kind} and not a text")
            values[key] = value
        for key, value in values.items():
            if not is_decoded(value):
                return not_decoded(record.place, value, key)
        metadata = self._metadata(record.fields, columns)
        for key, other in metadata.items():
            for each in (key, *texts_in(other)):
                if not is_decoded(each):
                    return not_decoded(record.place, each, key if is_decoded(key) else "a name")
        document = Document(values["id"], values["title"], values["text"], metadata)
        if not (document.title.strip() or document.text.strip()):
            return Bad(record.place, "empty", f"{columns.text} is {document.text!r:.20}")
        return document

    def _metadata(self, fields: Mapping[str, Any], columns: Columns) -> Mapping[str, Any]:
        """Return the chosen fields besides id, title and text."""
        if self._wanted == ():
            return {}
        used = (columns.id, columns.title, columns.text)
        others = inner_fields({name: each for name, each in fields.items() if name not in used})
        if self._wanted is None:
            return others
        self._others |= others.keys()
        return {name: others[name] for name in self._wanted if name in others}

    def _check_wanted(self) -> None:
        lacking = [name for name in self._wanted or () if name not in self._others]
        if lacking:
            raise InputError(
                f"{self.name} has no column {lacking[0]!r} (--metadata) besides id, title and "
                f"text; it has {listed(dict.fromkeys(sorted(self._others)))}"
            )


def as_id(value: object) -> str | None:
    """Return a field's value as an id, or None if it cannot be one.

    >>> as_id("a/1"), as_id(7), as_id(7.0), as_id(None), as_id("")
    ('a/1', '7', '7', None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):  # a column of whole numbers with gaps may be stored as such
        number = float(value)
        return str(int(number)) if number.is_integer() else None
    return (value or None) if isinstance(value, str) else None


def as_text(value: object) -> str | None:
    r"""Return a field's value as a text, or None if it cannot be one.

    >>> as_text(None), as_text(1998), as_text(["One.", "Two."]), as_text({})
    ('', '1998', 'One.\nTwo.', None)
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):  # a Parquet file may not say that a column has texts
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Integral):
        return str(value)
    if isinstance(value, Real):
        return "" if math.isnan(float(value)) else str(value)  # NaN stands for a missing value
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return None


def _of_objects(texts: Iterable[object]) -> Records:
    for number, value in enumerate(texts, start=1):
        yield as_record(f"documents[{number - 1}]", value)
