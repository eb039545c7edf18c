"""A bundle that can be written to while others read it."""

import copyreg
import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.paths import Files
from ranklet.corpus.sources.source import Source, Texts
from ranklet.corpus.sources.vectors import Vectors
from ranklet.corpus.updating.changes import Counts
from ranklet.corpus.updating.compact import compact, join_beside, restore
from ranklet.corpus.updating.live import Live
from ranklet.corpus.updating.update import list_documents, read_added
from ranklet.runtime.asks import Where
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import InputError, RankletError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import as_list
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.ranking import load
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.storage.address import BundleLike
from ranklet.runtime.storage.address import writable as place_of
from ranklet.runtime.writing.full_disk import full_disk_told
from ranklet.runtime.writing.leftovers import clean_up
from ranklet.runtime.writing.locks import locked

_log = logging.getLogger(__name__)


@short_tracebacks
def open(  # noqa: A001
    bundle: BundleLike | None = None, *, writable: bool = False, **options: Any
) -> Bundle:
    """Open a bundle as `load` does, or so that documents can be added and deleted.

    Args:
        bundle: a path; for reading also an address.
        writable: whether it is written to; then it is a `WritableBundle`.
        options: `device` and `strict`, and for reading all others of `load`.

    Raises:
        InputError: it is to be written to, and an address or a collection in Milvus.
        BundleError: it cannot be read, or has no collection.
    """
    return WritableBundle(bundle, **options) if writable else load(bundle, **options)


class WritableBundle(Bundle):
    """A bundle on disk to which documents are added, and whose documents are deleted.

    It sees what it has written, and what others had written until then. Several processes and
    threads may write to one bundle; they follow each other. Who reads it sees a write at the next
    `load`, and a server within a second.

    Args:
        bundle: its path.
        device: where models run; see `load`.
        strict: whether a missing device is an error; see `load`.
        joins: whether a write also joins additions with the bundle when they are large. A server's
            does not, so that nobody waits for it, and calls `join_beside` afterwards.

    Attributes:
        counts: what the last write has changed.
        skipped: why the last write has left out documents, a line for each; see `add`.

    Raises:
        InputError: an address is given.
        BundleError: the bundle cannot be read, or has no collection.
    """

    def __init__(
        self,
        bundle: BundleLike | None,
        *,
        device: str = "auto",
        strict: bool = False,
        joins: bool = True,
    ) -> None:
        if bundle is not None and not isinstance(bundle, Bundle):
            place_of(bundle)  # raises for an address
        is_open = isinstance(bundle, Bundle)
        opened = load(bundle) if is_open else load(bundle, device=device, strict=strict)
        if opened.restriction is not None or opened.collection is not None:
            raise InputError("a part of a bundle cannot be written to; open the bundle by its path")
        place_of(opened.path if isinstance(opened.path, Path) else opened.path.raw)
        if opened.version is not None:
            raise InputError("an earlier version cannot be written to; `restore` it in the newest")
        opened.files.need_collection()
        self._search, self._device, self._strict = opened._search, device, strict
        self._joins = joins
        self.counts, self.skipped = Counts(), tuple[str, ...]()

    @short_tracebacks
    def add(
        self,
        documents: Texts | Source | Collection,
        *,
        skip_bad: bool = False,
        options: SourceOptions | None = None,
        vectors: Vectors | None = None,
        within: Where | None = None,
    ) -> Self:
        """Add documents, each of which replaces the one with its id; return the bundle.

        Once this returns, they are on the disk, and whoever opens the bundle finds them.

        Args:
            documents: as `build` reads them, such as a list of objects with an id and a text.
            skip_bad: whether documents that cannot be used are left out, which `skipped` lists;
                otherwise nothing is written if there is one.
            options: how documents are read. Texts are split as those of the bundle were.
            vectors: of the documents, as in `update`.
            within: a filter that they must meet, and those that they replace; see `Bundle.only`.

        Raises:
            CollectionError: a document cannot be used; the message names its index and the field.
            InputError: documents have no ids, or are read in another way than the bundle's, or
                do not meet the filter.
            BundleError: the bundle is damaged, or cannot be written, as on a full disk.
        """
        return self.change(
            documents, skip_bad=skip_bad, options=options, vectors=vectors, within=within
        )

    @short_tracebacks
    def delete(
        self,
        ids: Iterable[str] = (),
        *,
        where: Where | None = None,
        missing_ok: bool = False,
        within: Where | None = None,
    ) -> Self:
        """Delete documents; return the bundle.

        Args:
            ids: the documents' ids.
            where: a filter by metadata; the documents that it allows are deleted, too.
            missing_ok: whether ids may be unknown.
            within: a filter of the documents that are known here; see `Bundle.only`.

        Raises:
            UnknownDocumentError: an id is unknown; nothing is deleted.
            InputError: no document would remain.
        """
        return self.change(delete=ids, where=where, missing_ok=missing_ok, within=within)

    @short_tracebacks
    def change(
        self,
        add: Texts | Files | Source | Collection | None = None,
        delete: Iterable[str] = (),
        *,
        where: Where | None = None,
        missing_ok: bool = False,
        skip_bad: bool = False,
        options: SourceOptions | None = None,
        vectors: Vectors | None = None,
        within: Where | None = None,
    ) -> Self:
        """Add and delete documents in one step; see `add` and `delete`."""
        wanted = as_list(delete, "delete", "put the one id in a list")
        place = place_of(self.path)
        with hint_packages(), full_disk_told(place, every=True), locked(place):
            clean_up(place)
            self._reload()
            part = None if within is None else self._local.narrowed(within)
            if where is not None:
                wanted = [*wanted, *(part or self._local).narrowed(where).all_ids()]
            if add is None:
                options = None  # nothing is read
            elif skip_bad and not isinstance(add, Source | Collection):
                options = replace(options or SourceOptions(), skip_bad=True)
            with self.files.damage_reported():
                source, _ = read_added(
                    self.files, add, options, vectors=vectors, may_be_empty=bool(wanted)
                )
                done = Live(self._local, part).write(
                    list_documents(source), wanted, missing_ok=missing_ok, skip_bad=skip_bad
                )
            self._reload()
        problems = str(source.problems).splitlines() if isinstance(source, Source) else ()
        self.counts, self.skipped = done.counts, (*problems, *done.refused)
        if self._joins and self.is_large:
            try:
                self.compact()
            except (RankletError, OSError) as error:  # all was written, so this write succeeded
                _log.warning("what was added could not be joined with the bundle: %s", error)
        return self

    @property
    def is_large(self) -> bool:
        """Whether what was added is so large that it is better joined with the bundle."""
        return Live(self._local).is_large

    def join_beside(self) -> None:
        """Join the bundle with what was added to it, unless another process is doing so.

        Raises:
            BundleError, BuildError: that is impossible; the bundle is as it was.
        """
        join_beside(self.path)
        self._reload()

    @short_tracebacks
    def compact(self, *, keep: int | None = None) -> Self:
        """Join the bundle with all that was added to it; return the bundle. See `compact`.

        Args:
            keep: how many earlier versions are kept; None for as many as the last time.
        """
        compact(self.path, keep=keep)
        self._reload()
        return self

    @short_tracebacks
    def restore(self, version: int) -> Self:
        """Bring back the documents of an earlier version as a new one; return the bundle.

        Args:
            version: its number, which `log` lists.

        Raises:
            InputError: there is no such version.
        """
        place = place_of(self.path)
        with hint_packages(), full_disk_told(place, every=True), locked(place):
            clean_up(place)
            self._reload()
            done = Live(self._local).restore(version)
        if not done:
            restore(self.path, version)
        self._reload()
        return self

    def ids(self) -> list[str]:
        """Return the ids of all documents, in their order."""
        return self._local.all_ids()

    def _reload(self) -> None:
        """See what was written until now."""
        self._search = load(self.path, device=self._device, strict=self._strict)._search

    @property
    def _local(self) -> LocalSearch:
        if not isinstance(self._search, LocalSearch):  # unreachable after the check
            raise InputError("a collection in Milvus is written to there")
        return self._search


def _as_path(bundle: WritableBundle) -> tuple[Any, ...]:
    opened = partial(WritableBundle, device=bundle.device, strict=bundle.strict)
    return opened, (str(Path(bundle).absolute()),)


copyreg.pickle(WritableBundle, _as_path)
