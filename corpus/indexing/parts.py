"""Join documents of several bundles, and new ones, into one collection.

Every change of a bundle is such a collection: an update, a write, a compaction, a merge, and a
build on a cluster differ only in the parts that they join.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.analysed import VectorPacker
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.reuse import Contents, Texts, first_passages
from ranklet.corpus.sources.bundle_documents import collect_each_metadata
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.segments import Shifts


@dataclass(frozen=True, eq=False)
class Part:
    """Documents of a bundle that a collection gets, or new documents.

    Attributes:
        places: where each passage stands among all, (passages,) int64. Equal places leave passages
            in their order, and those below 0 are left out.
        files: the bundle; None for new documents, which are the last part.
        new: the new documents.
    """

    places: NDArray[np.int64]
    files: BundleFiles | None = None
    new: Sequence[Document] = ()

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the passages that are not left out, ascending."""
        return np.flatnonzero(self.places >= 0)

    def in_order(self) -> Self:
        """Return the same passages, which follow those of the part before."""
        return replace(self, places=np.minimum(self.places, 0))

    @property
    def stored(self) -> Documents | Texts:
        """All passages of the bundle, or the new ones."""
        return Texts.of(self.new) if self.files is None else self.files.need_documents()

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The first passage of each passage's document, (passages,)."""
        if self.files is not None:
            return first_passages(self.files.need_documents())
        ids = np.array([each.id for each in self.new], object)
        return _latest(np.append(True, ids[1:] != ids[:-1])[: len(ids)])


class Joined(NamedTuple):
    """The documents of a collection."""

    contents: Contents  # ids, titles and texts of all passages
    origins: Origins  # where the ranked text of each was indexed before


def join(parts: Sequence[Part]) -> Joined:
    """Return the documents of all parts, each in its place."""
    parts = [each for each in parts if len(each.places)]
    files = tuple(each.files for each in parts if each.files is not None)
    begins = Shifts([len(each.places) for each in parts]).begins
    places = np.concatenate([each.places for each in parts])
    order = np.argsort(places, kind="stable")
    order = order[places[order] >= 0]
    part = np.searchsorted(begins[1:], order, side="right")
    number = order - begins[part]
    firsts = np.concatenate([each.firsts for each in parts])[order]
    begin = np.append(True, (np.diff(part) != 0) | (np.diff(firsts) != 0))
    chosen = list(zip(part[begin].tolist(), number[begin].tolist(), strict=True))
    metadata = collect_each_metadata(files, chosen, [each.metadata for each in parts[-1].new])
    contents = Contents.joined(
        Origins(files, part, number), [each.stored for each in parts], _latest(begin), metadata
    )
    vectors = VectorPacker()
    for at in number[part == len(files)].tolist():
        vectors.add(parts[-1].new[at])
    contents = contents._replace(vectors=vectors.rows())
    return Joined(contents, Origins.of(files, part, number))


def _latest(begins: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where the last of some beginnings was, at each place."""
    return np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
