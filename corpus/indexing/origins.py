"""Where the documents of a collection were indexed before, so that nothing is computed twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.compressing import compressed
from ranklet.corpus.indexing.packer import Packer, packed
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.storage.strings import CompressedStrings, Offsets, Strings


class Run(NamedTuple):
    """Documents that follow one another, in the new collection and where they come from."""

    part: int  # a bundle's place in `Origins.bundles`, or their number for new documents
    begin: int  # number of the first one there
    end: int  # and of the one after the last


@dataclass(frozen=True, eq=False)
class Origins:
    """The indexed bundle that has a document of the same ranked text, for every document.

    Attributes:
        bundles: bundles with the rankers for which the collection is indexed.
        part: the place of a document's bundle, or ``len(bundles)`` for a new document that no
            bundle has, (documents,) int64.
        number: the document's number in that bundle, or its place among the new ones, (documents,)
            int64.
    """

    bundles: tuple[BundleFiles, ...]
    part: NDArray[np.int64]
    number: NDArray[np.int64]

    @classmethod
    def of(
        cls, bundles: Sequence[BundleFiles], part: NDArray[np.int64], number: NDArray[np.int64]
    ) -> Self:
        """Return origins, where the numbers of new documents are counted from 0."""
        new = part == len(bundles)
        return cls(tuple(bundles), part, np.where(new, np.cumsum(new) - 1, number))

    @classmethod
    def all_new(cls, documents: int) -> Self:
        """Return the origins of documents that were never indexed."""
        return cls((), np.zeros(documents, np.int64), np.arange(documents))

    @property
    def new(self) -> NDArray[np.int64]:
        """The numbers of the new documents, ascending, (new documents,) int64."""
        return np.flatnonzero(self.part == len(self.bundles))

    def only(self, usable: Sequence[bool]) -> "Origins":
        """Return the same origins, except that documents of unusable bundles count as new."""
        kept = [bundle for bundle, use in zip(self.bundles, usable, strict=True) if use]
        place = np.append(np.cumsum(usable) - 1, len(kept)).astype(np.int64)
        place[:-1][~np.array(usable, np.bool_)] = len(kept)
        return Origins.of(kept, place[self.part], self.number)

    def runs(self) -> Iterator[Run]:
        """Yield the runs of documents that follow one another in their bundle as well, in order."""
        if not len(self.part):
            return
        follows = (np.diff(self.part) == 0) & (np.diff(self.number) == 1)
        begins = np.append(0, np.flatnonzero(~follows) + 1)
        lengths = np.diff(np.append(begins, len(self.part)))
        parts, numbers = self.part[begins].tolist(), self.number[begins].tolist()
        for part, begin, length in zip(parts, numbers, lengths.tolist(), strict=True):
            yield Run(part, begin, begin + length)


class Rows(NamedTuple):
    """Rows of different lengths, one per document, end to end in some columns."""

    offsets: NDArray[Any]  # row r is at offsets[r]:offsets[r + 1], (rows + 1,)
    columns: tuple[NDArray[Any], ...]  # (n, …) each


def join_offsets(origins: Origins, parts: Sequence[Offsets]) -> NDArray[np.int64]:
    """Return the offsets of the documents' rows, (documents + 1,) int64.

    Args:
        origins: where the documents were indexed before.
        parts: the offsets of each bundle's rows, and those of the new documents' rows.
    """
    lengths = [np.diff(parts[run.part][run.begin : run.end + 1]) for run in origins.runs()]
    return np.append(0, np.cumsum(np.concatenate([np.empty(0, np.int64), *lengths])))


def join_column(
    origins: Origins, offsets: Sequence[Offsets], columns: Sequence[NDArray[Any]]
) -> Iterator[NDArray[Any]]:
    """Yield the pieces of one column that make up the documents' rows, in order.

    Args:
        origins: where the documents were indexed before.
        offsets: the offsets of each bundle's rows, and of the new documents' rows.
        columns: the column of each bundle, and of the new documents.
    """
    for part, begin, end in origins.runs():
        yield columns[part][offsets[part][begin] : offsets[part][end]]


def joined_rows(origins: Origins, parts: Sequence[Rows]) -> Rows:
    """Return the rows of all documents, in temporary files; see `join_offsets`."""
    offsets = [part.offsets for part in parts]
    columns = []
    for at, column in enumerate(parts[-1].columns):
        pieces = join_column(origins, offsets, [part.columns[at] for part in parts])
        columns.append(packed(pieces, column.dtype, column.shape[1:]))
    return Rows(join_offsets(origins, offsets), tuple(columns))


def join_strings(origins: Origins, parts: Sequence[Strings]) -> Strings:
    """Concatenate strings from the bundles and the new documents in their final order.

    If those of the bundles are compressed with one dictionary, so are all.
    """
    dictionaries = {each.dictionary for each in parts if isinstance(each, CompressedStrings)}
    if len(dictionaries) == 1:
        (dictionary,) = dictionaries
        alike: list[Strings] = [compressed(part, dictionary) for part in parts]
    else:
        alike = list(map(_plain, parts))
    rows = joined_rows(origins, [Rows(part.offsets, (part.data,)) for part in alike])
    if len(dictionaries) == 1:
        return CompressedStrings(rows.columns[0], rows.offsets, dictionary)
    return Strings(rows.columns[0], rows.offsets)


def _plain(strings: Strings) -> Strings:
    """Return strings that are not compressed, which may be in a temporary file."""
    if not isinstance(strings, CompressedStrings):
        return strings
    packer = Packer()
    for string in strings:
        packer.add(string)
    return packer.strings()
