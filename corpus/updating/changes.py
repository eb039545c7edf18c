"""Find out which documents of a bundle a change replaces."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.field_types import BITS, READERS, Unusable, typed
from ranklet.corpus.sources.cells import Cell, stands_for_nothing
from ranklet.runtime.bundles.additions import Change
from ranklet.runtime.bundles.location import Location
from ranklet.runtime.bundles.manifest import STRING, Manifest
from ranklet.runtime.ground.errors import CollectionError, InputError, UnknownDocumentError
from ranklet.runtime.search.local import LocalSearch

_SHOWN = 3  # ids that a message names


@dataclass(frozen=True)
class Counts:
    """How many documents a change concerned, where the passages of a document count as one."""

    added: int = 0
    replaced: int = 0  # by others with the same ids
    deleted: int = 0
    unchanged: int = 0  # those given once more as they were, included
    missing: int = 0  # ids to delete that no document had

    def change(self) -> Change:
        """Return the counts as a version of a bundle has them."""
        documents = self.added + self.replaced + self.unchanged
        return Change("", documents, self.added, self.replaced, self.deleted)

    def __str__(self) -> str:
        """Return the counts in words."""
        words = [
            f"{count:,} {name}"
            for name, count in asdict(self).items()
            if count or name not in ("unchanged", "missing")
        ]
        return ", ".join(words)


class Changes(NamedTuple):
    """What of a collection is replaced, and by what."""

    counts: Counts
    changing: Mapping[str, Sequence[Document]]  # new documents and replacing ones, by id
    gone: Sequence[int]  # first passages of the documents that are replaced or deleted


def find_changes(
    search: LocalSearch,
    given: Mapping[str, Sequence[Document]],
    deleted: Iterable[str],
    *,
    missing_ok: bool,
    others: Set[str] = frozenset(),
) -> Changes:
    """Return what changes if documents are added and deleted.

    Args:
        search: the collection.
        given: the passages of each document to add. Those with known ids replace the old ones.
        deleted: ids.
        missing_ok: whether ids to delete may be unknown.
        others: ids that count as unknown.

    Raises:
        InputError: an id is added and deleted, or no document remains.
        UnknownDocumentError: an id to delete is unknown.
    """
    documents, wanted = search.documents, dict.fromkeys(deleted)
    if both := wanted.keys() & given.keys():
        raise InputError(
            f"the document {min(both)!r} is both added and deleted; a document that is added "
            "replaces the old one, so do not delete it"
        )
    missing = {*documents.lacking(wanted), *(others & wanted.keys())}
    if missing and not missing_ok:
        raise UnknownDocumentError(
            f"the bundle has no document {first_ids(sorted(missing))}; check the ids to delete, or "
            "pass --missing-ok (missing_ok=True) to delete the others"
        )
    gone = [documents.number(each) for each in wanted if each not in missing]
    known = {id_: number for id_ in given if (number := documents.find(id_)) >= 0}
    changing = {
        id_: own
        for id_, own in given.items()
        if id_ not in known or not is_same(search, known[id_], own)
    }
    replaced = [known[id_] for id_ in changing if id_ in known]
    left = search.count() - len(gone)
    new = len(changing) - len(replaced)
    if not left + new:
        raise InputError(
            "no document remains; a bundle needs one, so leave one out of those to delete"
        )
    counts = Counts(new, len(replaced), len(gone), left - len(replaced), len(missing))
    return Changes(counts, changing, [*replaced, *gone])


def by_id(documents: Iterable[Document]) -> dict[str, list[Document]]:
    """Return documents as lists of their passages by id, in their order."""
    parts: dict[str, list[Document]] = {}
    last = None
    for document in documents:
        if document.id in parts and document.id != last:
            raise CollectionError(
                f"the document {document.id!r} is added twice; leave one of the two out"
            )
        parts.setdefault(document.id, []).append(document)
        last = document.id
    return parts


def first_ids(ids: Sequence[str]) -> str:
    """Return the first of some ids for a message, and how many more there are."""
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(repr(each[:80]) for each in ids[:_SHOWN]) + more


def is_same(search: LocalSearch, number: int, new: Sequence[Document]) -> bool:
    """Return whether a given document equals the stored one."""
    old, metadata = search.documents, search.columns.of(number)
    stored = [(*old.record(at), old.location(at)) for at in old.passages(number).tolist()]
    if stored != [(*each[:3], Location.read(each.location)) for each in new]:
        return False
    given = {
        name: value
        for name, value in new[0].metadata.items()
        if _usable(value) is not None and (name in metadata or not _is_sign(value))
    }
    types = search.metadata
    if metadata.keys() != given.keys() or not all(
        _read_as(types[name], value) == _read_as(types[name], given[name])
        for name, value in metadata.items()
    ):
        return False
    return new[0].vector is None or _has_vectors(search, number, new)


def find_given(manifest: Manifest) -> tuple[str, Any] | None:
    """Return the ranker whose vectors come from outside and its settings; None if none do."""
    for name, entry in manifest.rankers.items():
        if (settings := entry.read_settings(name)).given:
            return name, settings
    return None


def _has_vectors(search: LocalSearch, number: int, new: Sequence[Document]) -> bool:
    """Return whether the vectors of a stored document's passages are those of a given one."""
    found = find_given(search.files.manifest)
    if found is None:
        return True
    ranker = search.ranker(found[0])
    old = ranker.read_vectors(search.documents.passages(number))  # type: ignore[attr-defined]
    vectors = np.array([each.vector for each in new], np.float32)
    return np.array_equal(old, found[1].store(vectors).floats(slice(None)))


def _usable(value: Any) -> Any:
    """Return a value of the metadata as JSON has it, None if it is missing or not kept."""
    try:
        found = typed(value)
    except Unusable:
        return None
    return None if found is None else found[1]


def _is_sign(value: Any) -> bool:
    """Return whether a cell says that there is no value."""
    return isinstance(value, Cell) and stands_for_nothing(value.strip())


def _read_as(type_: str, value: Any) -> Any:
    """Return what a value is in a field of a type, so that 1.50 is 1.5; None if it is none."""
    bits, usable = typed(value) or (0, None)
    usual = bits & BITS[type_] and not _is_sign(value)
    return READERS[type_](usable) if usual or type_ == STRING else None
