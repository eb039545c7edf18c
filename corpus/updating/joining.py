"""Join a base, its additions and new documents into one collection, each document in its place."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.folder import list_needs
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import list_words
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.reuse import Contents, Texts, analyse_again, first_passages
from ranklet.corpus.sources.bundle_documents import collect_each_metadata
from ranklet.corpus.updating.addition import PLACES, New
from ranklet.corpus.updating.changes import Changes
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.segments import AdditionFiles, Shifts
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.search.segments import list_segments
from ranklet.runtime.text.ranked import ranked_text


class Joined(NamedTuple):
    """The documents of a collection."""

    contents: Contents  # ids, titles and texts of all passages
    origins: Origins  # where the ranked text of each was indexed before


def analyse_all(joined: Joined, source: BundleFiles) -> AnalysedCollection:
    """Return the analysis of a collection for a bundle's rankers; see `analyse_again`."""
    manifest = source.manifest
    words, needs = list_words(manifest), list_needs(source)
    return analyse_again(*joined, titles=manifest.titles, words=words, **needs)


def place_new(
    search: LocalSearch, changing: Mapping[str, Sequence[Document]], following: int
) -> tuple[list[New], int]:
    """Return documents with their places among all, and the place that follows all.

    Args:
        search: the collection.
        changing: the passages of each document, by id. Known ones keep their places.
        following: the place that the first new document gets.
    """
    files, found = [each.files for each in list_segments(search)], list[New]()
    shifts = Shifts([each.manifest.documents for each in files])
    for id_, passages in changing.items():
        number = search.documents.find(id_)
        part, place = shifts.place(number) if number >= 0 else (0, following)
        if part:
            place = int(files[part].array(PLACES, np.int64, (None,))[place])
        following += number < 0
        found += [New(each, place) for each in passages]
    return found, following


def join(search: LocalSearch, changes: Changes | None = None) -> Joined:
    """Return all documents of a collection after some changes, each in its place."""
    files = [each.files for each in list_segments(search)]
    stored: list[Documents | Texts] = [each.need_documents() for each in files]
    begins, mask = Shifts([each.manifest.documents for each in files]).begins, search.allowed()
    stays = np.ones(begins[-1], np.bool_) if mask is None else mask.copy()
    new = list[New]()
    if changes is not None:
        new, _ = place_new(search, changes.changing, np.iinfo(np.int64).max - len(changes.changing))
        for gone in changes.gone:
            stays[search.documents.passages(gone)] = False
    added = [each.document for each in new]
    rows = np.append(np.flatnonzero(stays), begins[-1] + np.arange(len(new)))
    last = np.array([each.place for each in new], np.int64)
    places = np.concatenate([*map(_places, files), last])
    order = rows[np.argsort(places[rows], kind="stable")]
    part = np.searchsorted(begins[1:], order, side="right")
    number = order - begins[part]
    own = [first_passages(each.need_documents()) for each in files]
    firsts = np.concatenate([*own, _firsts(added)])
    begin = np.append(True, (np.diff(part) != 0) | (np.diff(firsts[order]) != 0))
    first = np.maximum.accumulate(np.where(begin, np.arange(len(order)), 0))
    wholes = np.flatnonzero(begin)
    chosen = list(zip(part[wholes].tolist(), number[wholes].tolist(), strict=True))
    metadata = collect_each_metadata(files, chosen, [each.metadata for each in added])
    if added:
        stored.append(Texts.of(added))
    contents = Contents.joined(Origins(tuple(files), part, number), stored, first, metadata)
    if changes is not None:
        part, number = _indexed(search, added, changes.known, part, number)
    return Joined(contents, Origins.of(files, part, number))


def _places(files: BundleFiles) -> NDArray[np.int64]:
    """Return the place of each document of a part among all, (documents,) int64."""
    count = files.manifest.documents
    if not isinstance(files, AdditionFiles):
        return np.arange(count)
    return files.array(PLACES, np.int64, (count,))


def _firsts(documents: Sequence[Document]) -> NDArray[np.int64]:
    """Return the first passage of each passage's document, (documents,) int64."""
    firsts = list[int]()
    for at, each in enumerate(documents):
        goes_on = at and documents[at - 1].id == each.id
        firsts.append(firsts[-1] if goes_on else at)
    return np.array(firsts, np.int64)


def _indexed(
    search: LocalSearch,
    added: Sequence[Document],
    known: Mapping[str, int],
    part: NDArray[np.int64],
    number: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where documents come from; those whose ranked text was there come from there."""
    part, number, documents = part.copy(), number.copy(), search.documents
    files = [each.files for each in list_segments(search)]
    shifts = Shifts([each.manifest.documents for each in files])
    for at in np.flatnonzero(part == len(files)).tolist():
        new = added[number[at]]
        if new.id in known:
            text = ranked_text(new.title, new.text, documents.titled)
            for old in documents.passages(known[new.id]).tolist():
                if documents.read_ranked_texts([old]) == [text]:
                    part[at], number[at] = shifts.place(old)
    return part, number
