"""Add documents to a bundle and delete some, in an addition beside it, while others read it.

One write is an addition, which is on the disk before the list that names it. So a document is there
once its writer has returned, and nobody sees half of one.
"""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from ranklet.corpus.building.packages import check_packages
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import list_words
from ranklet.corpus.indexing.field_types import BITS, NOTHING, Unusable, typed
from ranklet.corpus.sources.column_types import parse_value
from ranklet.corpus.updating.addition import pack_addition
from ranklet.corpus.updating.changes import Changes, Counts, by_id, find_changes
from ranklet.corpus.updating.joining import find_deleted, place_new, read_part
from ranklet.corpus.updating.versions import following, publish, remove_strays
from ranklet.runtime.bundle import open_version
from ranklet.runtime.bundles.additions import Addition, Additions, Change, of_base, read_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import MAX_FIELDS, PLURALS, STRING
from ranklet.runtime.bundles.segments import AdditionFiles
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.metadata.masks import evaluate
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.search.segments import list_segments

MOST = 3  # additions; a search asks each of them
GROWTH = 8  # an addition is joined with what follows it unless it is so many times as large,
FEW = 100  # and has more passages than this, because each addition makes queries slower
SHARE, LEAST = 10, 1000  # additions are joined with the base if they are a tenth of it, and so many


class OutsideError(CollectionError):
    """Documents are no part of what may be written.

    Args:
        reasons: what to do about each of them, by their ids.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("\n".join(reasons.values()))
        self.reasons = reasons


class Written(NamedTuple):
    """What a write has changed."""

    counts: Counts
    refused: tuple[str, ...] = ()  # documents that were left out, and why


@dataclass(frozen=True)
class Live:
    """A bundle whose lock is held, as it is now.

    Attributes:
        search: all of it.
        part: what of it may be seen and written; None for all.
    """

    search: LocalSearch
    part: LocalSearch | None = None

    @property
    def additions(self) -> Additions:
        """Its additions."""
        return self.search.additions or read_additions(self.search.files)

    @property
    def _files(self) -> list[BundleFiles]:
        """The base and each addition."""
        return [each.files for each in list_segments(self.search)]

    def write(
        self,
        added: Iterable[Document],
        deleted: Sequence[str],
        *,
        missing_ok: bool = False,
        skip_bad: bool = False,
    ) -> Written:
        """Add documents, or replace those with the same ids, and delete others.

        Raises:
            InputError, UnknownDocumentError: as `update`.
            CollectionError: a document has a value that a field cannot hold, or is or replaces
                one that is no part of what may be written, and `skip_bad` is not set.
        """
        files = self.search.files
        list_words(files.manifest)  # raises if nothing says how words are read
        parts = by_id(added)
        refused = self._find_refused(parts)
        if refused and not skip_bad:
            raise CollectionError("\n".join(refused.values()))
        parts = {id_: own for id_, own in parts.items() if id_ not in refused}
        changes = find_changes(
            self.search, parts, deleted, missing_ok=missing_ok, others=self._others(deleted)
        )
        if changes.changing:
            check_packages(files.manifest)
        try:
            if changes.changing or changes.gone:
                self._commit(changes)
        except OutsideError as error:  # only the packed columns say what the filter allows
            if not skip_bad:
                raise
            inside = (own for id_, own in parts.items() if id_ not in error.reasons)
            left = chain.from_iterable(inside)
            again = self.write(left, deleted, missing_ok=missing_ok, skip_bad=True)
            return Written(again.counts, (*refused.values(), *error.reasons.values()))
        return Written(changes.counts, tuple(refused.values()))

    def _find_refused(self, parts: Mapping[str, Sequence[Document]]) -> dict[str, str]:
        """Return why documents cannot be added, by their ids."""
        types, refused = dict(self.search.metadata), dict[str, str]()
        others = self._others(parts)
        for at, (id_, (document, *_)) in enumerate(parts.items()):
            place = _place(document) or f"documents[{at}]: "
            if id_ in others:
                refused[id_] = f"{place}its id {id_!r:.80} is taken; give it another"
            for name, value in document.metadata.items():
                if fault := _fault(name, value, types):
                    refused[id_] = f"{place}{fault}"
        return refused

    def _others(self, ids: Iterable[str]) -> set[str]:
        """Return those of some ids whose documents are no part of what may be written."""
        mask, documents = self._written, self.search.documents
        if mask is None:
            return set()
        found = {id_: documents.find(id_) for id_ in ids}
        return {id_ for id_, number in found.items() if number >= 0 and not mask[number]}

    @cached_property
    def _written(self) -> Mask | None:
        """Which documents may be written, (documents,) bool; None for all."""
        return None if self.part is None else self.part.allowed()

    def _check_new(self, content: bytes, new: Sequence[Document]) -> None:
        """Check that new documents, the last of an addition, are part of what may be written."""
        condition = self.part.only if self.part else None
        if condition is None:
            return
        files = self.search.files
        packed = AdditionFiles(files.path, files, content=content)
        columns = Metadata(packed, self.search.metadata)
        inside = evaluate(condition, columns)[-len(new) :].tolist()
        if outside := [each for each, fits in zip(new, inside, strict=True) if not fits]:
            raise OutsideError({
                each.id: f"{_place(each)}the document {each.id!r:.80} has not the fields of the "
                "documents that may be written; give it those"
                for each in outside
            })  # fmt: skip

    def restore(self, version: int) -> bool:
        """Write a version that is as an earlier one was; return False if that had another base."""
        files, before = self.search.files, self.additions
        opened = open_version(self.search, version)
        if opened.files is not files:
            return False
        change = Change(documents=opened.count(), restored=version)
        listed = opened.additions or of_base(files)
        remove_strays(files.path, before)
        publish(files.path, before, following(before, listed, change))
        return True

    def _commit(self, changes: Changes) -> None:
        """Write an addition and the list that names it; nothing was written until then."""
        files, before = self.search.files, self.additions
        remove_strays(files.path, before)
        deleted = find_deleted(self.search, changes.gone)
        new, next_place = place_new(self.search, changes.changing, before.next)
        parts, contents = list(before.parts), dict[str, bytes]()
        if new.new:
            added = list(map(read_part, self._files[1:], deleted[1:]))
            first = first_to_join([len(each.numbers) for each in added], len(new.new))
            types = dict(self.search.metadata)
            content, sha256 = pack_addition(files, added[first:], new, types)
            self._check_new(content, new.new)
            name = f"{before.version + 1:06d}-{secrets.token_hex(4)}.zip"
            parts[first:] = [Addition(name, len(content), sha256)]
            deleted[1 + first :] = [()]
            contents[name] = content
        listed = Additions(before.base, next_place, 0, tuple(parts), tuple(deleted))
        listed = following(before, listed, changes.counts.change())
        publish(files.path, before, listed, contents)

    @property
    def is_large(self) -> bool:
        """Whether additions are so large that they are better joined with the base."""
        base, *added = [each.manifest.documents for each in self._files]
        return sum(added) + len(self.additions.deleted[0]) > max(LEAST, base // SHARE)


def first_to_join(sizes: Sequence[int], new: int) -> int:
    """Return the first of the additions that a new one replaces; their number if it replaces none.

    Of additions that grow one by one each is large compared with the next. So a document is written
    again a few times only, and there are never more than `MOST`.

    >>> first_to_join([900, 100], 1), first_to_join([8000, 900, 100], 1), first_to_join([800], 200)
    (1, 2, 0)

    Args:
        sizes: passages of each addition.
        new: passages of the new one.
    """
    first = len(sizes)
    while first and (sizes[first - 1] <= max(GROWTH * new, FEW) or first == MOST):
        first -= 1
        new += sizes[first]
    return first


def _place(document: Document) -> str:
    """Return where a document stands in its source, as a message begins; "" if that is unknown."""
    place = getattr(document.metadata, "place", "")
    return f"{place}: " if place else ""


def _fault(name: str, value: object, types: dict[str, str]) -> str:
    """Return why a field cannot hold a value, "" if it can; types of new fields are added."""
    try:
        found = typed(value)
    except Unusable:  # it is not kept, as in a build
        return ""
    if found is None or found[0] == NOTHING:
        return ""
    if name not in types:
        if len(types) >= MAX_FIELDS:
            return f"{name!r:.80} would be one of more than {MAX_FIELDS} fields"
        types[name] = next(type_ for type_, bit in BITS.items() if found[0] & bit)
    type_ = types[name]
    if type_ == STRING or found[0] & BITS[type_]:
        return ""
    advice = "correct it, or run `ranklet update`, which gives the field another type"
    with suppress(ValueError):  # a string that stands for one
        meant = parse_value(value, type_)
        shown = meant.isoformat() if isinstance(meant, date) else meant
        advice = f"give {json.dumps(shown)}"
    return f"{name!r:.80} is {value!r:.60}, but the bundle holds {PLURALS[type_]} there; {advice}"
