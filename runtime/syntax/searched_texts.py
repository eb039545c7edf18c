"""The texts in which a search finds words: title and text, and strings of the searched fields."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.lexical.field_index import TEXT, TITLE
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.storage.block_array import fetch_rows


class SearchedTexts:
    """What is searched of a collection, in which a phrase stands within one text.

    Args:
        documents: the collection.
        fields: the fields of the index, the text among them; none if it has no fields.
        columns: the metadata, which has their strings; None for none.
    """

    def __init__(
        self, documents: Documents, fields: Collection[str] = (), columns: Metadata | None = None
    ) -> None:
        self.documents, self._fields, self._columns = documents, fields, columns

    def fetch(self, numbers: NDArray[np.integer]) -> None:
        """Fetch the texts of some documents at once, from object storage."""
        stored = self.documents.stored()[1:]
        if self._columns is not None and set(self._fields) - {TEXT, TITLE}:
            self._columns.fetch(numbers, stored)
        else:
            fetch_rows(numbers, ragged=stored)

    def read(self, number: int, field: str = "") -> list[str]:
        """Return the texts of a document's field; of all that are searched, without a field."""
        if field == TITLE:
            return [self.documents.titles[number]]
        if field not in ("", TEXT):
            return self._strings(field, number)
        if TITLE not in self._fields:
            found = self.documents.read_ranked_texts([number])
        else:  # a field of its own
            found = [self.documents.texts[number], *([] if field else self.read(number, TITLE))]
        return found if field else [*found, *self.strings(number)]

    def strings(self, number: int) -> list[str]:
        """Return a document's strings in all fields that are columns."""
        columns = (each for each in self._fields if each not in (TEXT, TITLE))
        return [text for each in columns for text in self._strings(each, number)]

    def _strings(self, field: str, number: int) -> list[str]:
        value = None if self._columns is None else self._columns.column(field).value(number)
        return value if isinstance(value, list) else [] if value is None else [str(value)]
