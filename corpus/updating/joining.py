"""Say which documents of a base, its additions and new ones a collection has, and where."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.parts import Joined, Part
from ranklet.corpus.updating.addition import PLACES
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.segments import AdditionFiles, Shifts
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.search.segments import list_segments
from ranklet.runtime.text.ranked import RankedTexts


def read_parts(search: LocalSearch, gone: Iterable[int] = ()) -> list[Part]:
    """Return the base and the additions of a collection without what `find_deleted` finds."""
    files = [each.files for each in list_segments(search)]
    return list(map(read_part, files, find_deleted(search, gone)))


def find_deleted(search: LocalSearch, gone: Iterable[int] = ()) -> list[tuple[int, ...]]:
    """Return the numbers of the passages that are deleted in each part, ascending.

    Args:
        search: the collection.
        gone: the first passages of documents that are deleted besides.
    """
    documents, listed = search.documents, search.additions
    numbers = [set(each) for each in (listed.deleted if listed else ((),))]
    rows = np.concatenate([np.empty(0, np.uint32), *map(documents.passages, gone)])
    for part, _, own in _shifts(search).shares(rows):
        numbers[part] |= set(own.tolist())
    return [tuple(sorted(each)) for each in numbers]


def read_part(files: BundleFiles, deleted: Sequence[int]) -> Part:
    """Return a base or an addition without its deleted passages."""
    places = np.arange(files.manifest.documents)
    if isinstance(files, AdditionFiles):
        places = files.array(PLACES, np.int64, places.shape).copy()
    places[list(deleted)] = -1
    return Part(places, files)


def place_new(
    search: LocalSearch, changing: Mapping[str, Sequence[Document]], following: int
) -> tuple[Part, int]:
    """Return new documents with their places among all, and the place that follows all.

    Args:
        search: the collection.
        changing: the passages of each document, by id. Known ones keep their places.
        following: the place that the first new document gets.
    """
    files, shifts = [each.files for each in list_segments(search)], _shifts(search)
    places, new = list[int](), list[Document]()
    for id_, passages in changing.items():
        number = search.documents.find(id_)
        part, place = shifts.place(number) if number >= 0 else (0, following)
        if part:
            place = int(files[part].array(PLACES, np.int64, (None,))[place])
        following += number < 0
        places += [place] * len(passages)
        new += passages
    return Part(np.array(places, np.int64), new=new), following


def find_indexed(joined: Joined, search: LocalSearch) -> Joined:
    """Return documents of which none is new that has the ranked text of one that it replaces."""
    if joined.contents.vectors is not None:  # which may differ for the same text
        return joined
    (contents, origins), documents, shifts = joined, search.documents, _shifts(search)
    part, number = origins.part.copy(), origins.number.copy()
    texts = RankedTexts(contents.titles, contents.texts, documents.titled)
    for at in origins.new.tolist():
        replaced = documents.find(contents.ids[at])
        for old in documents.passages(replaced).tolist() if replaced >= 0 else ():
            if documents.read_ranked_texts([old]) == [texts[at]]:
                part[at], number[at] = shifts.place(old)
    return Joined(contents, Origins.of(origins.bundles, part, number))


def _shifts(search: LocalSearch) -> Shifts:
    return Shifts([each.files.manifest.documents for each in list_segments(search)])
