"""The parts of a collection: a base, and additions with a little vocabulary of their own each.

The documents of all parts are numbered through, those of the base first.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles, Check
from ranklet.runtime.bundles.location import Location
from ranklet.runtime.storage.address import Address
from ranklet.runtime.storage.archive import Archive, ZipInMemory
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.analysis import Analyzer, Vocabulary
from ranklet.runtime.text.tokenizing import Tokenizer

if TYPE_CHECKING:
    from ranklet.runtime.object_storage.remote_zip import RemoteZip


class Share(NamedTuple):
    """Those of some documents that one part has."""

    part: int
    places: NDArray[np.intp]  # among all of them, ascending
    numbers: NDArray[np.uint32]  # in the part


class Shifts:
    """Which numbers the documents of each part have.

    Args:
        sizes: how many documents each part has.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.begins = np.cumsum([0, *sizes])
        self._ends: list[int] = self.begins[1:].tolist()  # which bisect takes faster

    def place(self, number: int) -> tuple[int, int]:
        """Return the part that has a document, and the document's number there.

        >>> Shifts([3, 1]).place(3)
        (1, 0)
        """
        part = bisect(self._ends, number)
        return part, number - (self._ends[part - 1] if part else 0)

    def shares(self, numbers: NDArray[np.integer]) -> Iterator[Share]:
        """Yield the documents of each part that has some of them."""
        owners = np.searchsorted(self.begins, numbers, side="right") - 1
        for part in np.unique(owners).tolist():
            places = np.flatnonzero(owners == part)
            yield Share(part, places, (numbers[places] - self.begins[part]).astype(np.uint32))


class AdditionFiles(BundleFiles):
    """An addition, which has rows of documents and takes all else from its base.

    Args:
        path: the addition's zip.
        base: the bundle that it belongs to.
        check: as for a bundle.
        content: the zip, if it is not written yet.
    """

    def __init__(
        self, path: Path | Address, base: BundleFiles, check: Check = "fast", content: bytes = b""
    ) -> None:
        self._content = content
        super().__init__(path, check, device=base.device, strict=base.strict, cache=base.cache)
        self.base = base

    def _opened_archive(self) -> "Archive | RemoteZip":
        return ZipInMemory(self._content) if self._content else super()._opened_archive()

    @property
    def analyzer(self) -> Analyzer:
        """The text analysis of the addition's words, which splits texts as the base does."""
        base, opened = self.base.analyzer, self._open_vocabulary
        return self.once("analyzer", lambda: Analyzer(opened(), lambda: base.tokenizer))

    def _open_vocabulary(self) -> Vocabulary:
        own, base = super()._open_vocabulary(), self.base.analyzer.vocabulary
        own.splitter, own.phrase_splitter = base.splitter, base.phrase_splitter
        return own

    def tokenizer(self, name: str = TOKENIZER, *, plain: bool = False) -> Tokenizer:
        """Read the base's tokenizer of the field wordpieces, or of a ranker."""
        return self.base.tokenizer(name, plain=plain)


class SegmentedStrings(Strings):
    """The strings of several parts, end to end."""

    def __init__(self, parts: Sequence[Strings], shifts: Shifts) -> None:
        self._parts, self._shifts = parts, shifts

    def __len__(self) -> int:
        return int(self._shifts.begins[-1])

    def raw(self, index: int) -> bytes:
        """Return the UTF-8 bytes of string ``index``."""
        part, own = self._shifts.place(index)
        return self._parts[part].raw(own)


class SegmentedDocuments(Documents):
    """The documents of several parts.

    Args:
        parts: the documents of each part, the base's first.
        deleted: which of them are gone, (documents,) bool.
    """

    def __init__(self, parts: Sequence[Documents], deleted: NDArray[np.bool_]) -> None:
        self.parts, self.deleted = parts, deleted
        self.shifts = Shifts([len(each) for each in parts])
        self.ids, self.titles, self.texts = (
            SegmentedStrings([getattr(each, name) for each in parts], self.shifts)
            for name in ("ids", "titles", "texts")
        )
        self.titled, self.vocabulary = parts[0].titled, parts[0].vocabulary

    @cached_property
    def first(self) -> NDArray[np.uint32] | None:  # type: ignore[override]
        """Number of the first passage of the same document; None if every document is whole."""
        if all(each.first is None for each in self.parts):
            return None
        own = [np.arange(len(part)) if part.first is None else part.first for part in self.parts]
        shifted = [each + begin for each, begin in zip(own, self.shifts.begins, strict=False)]
        return np.concatenate(shifted).astype(np.uint32)

    def find(self, document_id: str) -> int:
        """Return the number of a document id, or of the first passage; −1 if there is none."""
        for part, begin in zip(self.parts[::-1], self.shifts.begins[-2::-1].tolist(), strict=True):
            found = part.find(document_id)
            if found >= 0 and not self.deleted[begin + found]:
                return int(begin + found)
        return -1

    def unknown(self, document_id: str) -> str:
        """Return a message that there is no document of an id."""
        return self.parts[0].unknown(document_id)

    def record(self, number: int) -> tuple[str, str, str]:
        """Return a document's id, title and text."""
        part, own = self.shifts.place(number)
        return self.parts[part].record(own)

    def location(self, number: int) -> Location | None:
        """Return where a passage stands in its document; None if that is whole or not known."""
        part, own = self.shifts.place(number)
        return self.parts[part].location(own)

    def stored(self, *, shown: bool = True, tokens: bool = False) -> list[Any]:  # noqa: ARG002
        """Return nothing, because each part has arrays of its own."""
        return []
