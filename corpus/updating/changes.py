"""Find out which documents of a bundle remain after a change, and in which order."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.joined import analyse_joined
from ranklet.corpus.building.writing import needs_of
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import words_of
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.field_types import Unusable, as_string, typed
from ranklet.corpus.indexing.origins import Origins, joined_strings
from ranklet.corpus.indexing.reuse import Contents, first_passages
from ranklet.corpus.sources.bundle_documents import metadata_of
from ranklet.corpus.sources.cells import Cell, stands_for_nothing
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Value
from ranklet.runtime.errors import CollectionError, InputError, UnknownDocumentError
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.ranked import ranked_text

_SHOWN = 3  # ids that a message names


@dataclass(frozen=True)
class Counts:
    """How many documents a change concerned, where the passages of a document count as one."""

    added: int = 0
    replaced: int = 0  # by others with the same ids
    deleted: int = 0
    unchanged: int = 0  # those given once more as they were, included
    missing: int = 0  # ids to delete that no document had

    def __str__(self) -> str:
        """Return the counts in words."""
        words = [
            f"{count:,} {name}"
            for name, count in asdict(self).items()
            if count or name not in ("unchanged", "missing")
        ]
        return ", ".join(words)


@dataclass(frozen=True, eq=False)
class Changes:
    """The documents of a changed collection.

    Attributes:
        contents: ids, titles and texts of all passages.
        origins: where the ranked text of each was indexed before.
        counts: how many documents the change concerned.
    """

    contents: Contents
    origins: Origins
    counts: Counts


def find_changes(
    bundle: BundleFiles, added: Iterable[Document], deleted: Iterable[str], *, missing_ok: bool
) -> Changes:
    """Return the documents of a bundle after a change.

    Unchanged documents keep their order, replaced ones keep their place, and new ones come last.

    Args:
        bundle: a bundle with a collection.
        added: successive ones with one id are passages of one document. Those with known ids
            replace the old ones.
        deleted: ids.
        missing_ok: whether ids to delete may be unknown.

    Raises:
        InputError: an id is added and deleted, or twice there, or no document remains.
        UnknownDocumentError: an id to delete is unknown.
    """
    old, parts = bundle.need_documents(), by_id(added)
    count = len(old)
    first = first_passages(old)
    gone, missing = numbers_to_delete(old, deleted, parts, missing_ok)
    stays = ~np.isin(first, gone)
    known = {id_: old.number(id_) for id_ in set(parts) - old.lacking(parts)}
    same = {id_ for id_, number in known.items() if is_same(bundle, number, parts[id_])}
    changing = {id_: documents for id_, documents in parts.items() if id_ not in same}
    replaced = [number for id_, number in known.items() if id_ in changing]
    stays &= ~np.isin(first, replaced)
    rows = _Rows(np.flatnonzero(stays), old, changing, known)
    if not len(rows.part):
        raise InputError(
            "no document remains; a bundle needs one, so leave one out of those to delete"
        )
    whole = int(np.count_nonzero(stays & (first == np.arange(count))))
    counts = Counts(len(changing) - len(replaced), len(replaced), len(gone), whole, missing)
    return Changes(rows.contents(bundle), rows.origins(bundle), counts)


def analyse_changes(changes: Changes, source: BundleFiles) -> AnalysedCollection:
    """Return the analysis of a changed collection for its rankers; see `analyse_joined`."""
    manifest = source.manifest
    words = words_of(manifest)
    needs = needs_of(source)
    return analyse_joined(
        changes.contents, changes.origins, needs, titles=manifest.titles, words=words
    )


class _Rows:
    """The passages of a changed collection in their order, old ones and new ones."""

    def __init__(
        self,
        stays: NDArray[np.int64],
        old: Documents,
        changing: dict[str, list[Document]],
        known: dict[str, int],
    ) -> None:
        self._old = old
        self._new = [each for documents in changing.values() for each in documents]
        places = [known.get(each.id, len(old)) for each in self._new]
        order = np.argsort(np.append(stays, np.array(places, np.int64)), kind="stable")
        self.part = (order >= len(stays)).astype(np.int64)
        number = np.append(stays, np.arange(len(self._new)))
        self.number: NDArray[np.int64] = number[order].astype(np.int64)
        self._known = known

    def contents(self, bundle: BundleFiles) -> Contents:
        """Return all ids, titles, texts and metadata."""
        origins = Origins((), self.part, self.number)
        old = (self._old.ids, self._old.titles, self._old.texts)
        ids, titles, texts = (
            joined_strings(origins, [stored, Strings.pack(new)])
            for stored, new in zip(old, _columns(self._new), strict=True)
        )
        first = self._first()
        return Contents(ids, titles, texts, first, self._metadata(bundle, first))

    def _metadata(
        self, bundle: BundleFiles, first: NDArray[np.uint32]
    ) -> Iterable[Mapping[str, Any]]:
        """Return the metadata of each whole document; nothing if no document has any."""
        if not bundle.manifest.metadata and not any(each.metadata for each in self._new):
            return ()
        whole = np.flatnonzero(first == np.arange(len(first)))
        old = metadata_of(bundle, self.number[whole][self.part[whole] == 0].tolist())
        return (
            self._new[number].metadata if part else next(old)
            for part, number in zip(
                self.part[whole].tolist(), self.number[whole].tolist(), strict=True
            )
        )

    def origins(self, bundle: BundleFiles) -> Origins:
        """Return where the ranked text of each passage was indexed before."""
        part, number = self.part.copy(), self.number.copy()
        for at in np.flatnonzero(part).tolist():
            found = self._indexed(self._new[int(number[at])])
            if found >= 0:
                part[at], number[at] = 0, found
        return Origins.of([bundle], part, number)

    def _indexed(self, new: Document) -> int:
        """Return the old passage with the same document and ranked text, −1 if there is none."""
        if new.id in self._known:
            text = ranked_text(new.title, new.text, self._old.titled)
            for number in self._old.passages(self._known[new.id]).tolist():
                if self._old.ranked_texts([number]) == [text]:
                    return int(number)
        return -1

    def _first(self) -> NDArray[np.uint32]:
        """Return the number of the first passage of each passage's document."""
        group = np.empty(len(self.part), np.int64)  # equal for the passages of a document only
        old = self.part == 0
        group[old] = first_passages(self._old)[self.number[old]]
        numbers: dict[str, int] = {}
        of_new = [numbers.setdefault(each.id, len(numbers)) for each in self._new]
        group[~old] = len(self._old) + np.array(of_new, np.int64)[self.number[~old]]
        begin = np.append(True, np.diff(group) != 0)
        return np.maximum.accumulate(np.where(begin, np.arange(len(group)), 0)).astype(np.uint32)


def _columns(documents: Sequence[Document]) -> tuple[list[str], list[str], list[str]]:
    ids = [each.id for each in documents]
    return ids, [each.title for each in documents], [each.text for each in documents]


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


def numbers_to_delete(
    old: Documents,
    deleted: Iterable[str],
    added: Iterable[str],
    missing_ok: bool,
    others: Set[str] = frozenset(),
) -> tuple[list[int], int]:
    """Return the numbers of the documents to delete, and how many ids are unknown.

    Ids of `others` count as unknown.
    """
    wanted = list(dict.fromkeys(deleted))
    if both := set(wanted) & set(added):
        raise InputError(
            f"the document {min(both)!r} is both added and deleted; a document that is added "
            "replaces the old one, so do not delete it"
        )
    missing = {*old.lacking(wanted), *(others & {*wanted})}
    if missing and not missing_ok:
        raise UnknownDocumentError(
            f"the bundle has no document {first_ids(sorted(missing))}; check the ids to delete, or "
            "pass --missing-ok (missing_ok=True) to delete the others"
        )
    return [old.number(each) for each in wanted if each not in missing], len(missing)


def first_ids(ids: Sequence[str]) -> str:
    """Return the first of some ids for a message, and how many more there are."""
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(repr(each[:80]) for each in ids[:_SHOWN]) + more


def is_same(bundle: BundleFiles, number: int, new: Sequence[Document]) -> bool:
    """Return whether a given document equals the stored one."""
    old = bundle.need_documents()
    stored = [old.record(each) for each in old.passages(number).tolist()]
    if stored != [(each.id, each.title, each.text) for each in new]:
        return False
    (metadata,) = metadata_of(bundle, [number])
    given = {
        name: value
        for name, value in new[0].metadata.items()
        if _usable(value) is not None and (name in metadata or not _is_sign(value))
    }
    return metadata.keys() == given.keys() and all(
        _is_same_value(value, given[name]) for name, value in metadata.items()
    )


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


def _is_same_value(stored: Value, given: Any) -> bool:
    """Return whether a given value of the metadata equals the stored one; cells count as text."""
    ours, theirs = _usable(stored), _usable(given)
    if isinstance(given, Cell):  # any value of a table is a string there
        return bool(as_string(ours) == theirs)
    numbers = {type(ours), type(theirs)} == {int, float}  # all are fractions if one is
    return (numbers or type(ours) is type(theirs)) and bool(ours == theirs)
