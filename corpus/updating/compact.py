"""Join a base with its additions into the bundle that a build of all documents would write."""

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ranklet.corpus.building.folder import list_needs, write_indexed
from ranklet.corpus.building.writer import BundleWriter, ChangedError, check_source
from ranklet.corpus.index import list_words
from ranklet.corpus.indexing.parts import Joined, join
from ranklet.corpus.indexing.reuse import analyse_again
from ranklet.corpus.updating.joining import read_parts
from ranklet.corpus.updating.versions import VERSIONS, following, keep_base, prune
from ranklet.runtime.bundle import Bundle, open_search, open_version
from ranklet.runtime.bundles.additions import HISTORY, Additions, Change, of_base, read_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import REMARKS
from ranklet.runtime.ground.errors import BundleError, BusyError, InputError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.address import BundleLike, on_disk, writable
from ranklet.runtime.writing.full_disk import full_disk_told
from ranklet.runtime.writing.locks import locked, waiting_at_most

TRIES = 2  # to join without the lock, before writers have to wait


@short_tracebacks
def compact(bundle: BundleLike, *, keep: int | None = None) -> Bundle:
    """Join a bundle with what was added to it, in one step at the end; readers go on meanwhile.

    The result has the same bytes as one that is built from all documents, as after `update`.

    Args:
        bundle: a bundle on disk.
        keep: how many of its earlier versions are kept, now and when it is joined again, each with
            the whole bundle that it needs; None for as many as the last time, at first none.

    Returns:
        The bundle, which is open.

    Raises:
        BundleError: it cannot be read, or the disk is full.
        InputError: an address is given, or `keep` is below 0.
    """
    check_source(bundle, bundle)
    if keep is not None and not 0 <= keep < 1 << 62:
        raise InputError(f"keep is {keep:,}; give 0 to keep no earlier version, or a number above")
    _make_room(bundle, VERSIONS)
    try:
        _compact(bundle, keep)
    except BundleError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        _make_room(bundle, keep)  # the disk is full, perhaps of what would go in the end
        _compact(bundle, keep)
    return load(Path(bundle))


def _make_room(bundle: BundleLike, keep: int | None) -> None:
    """Remove what killed writers have left, and all but some earlier versions."""
    place = writable(on_disk(bundle))
    with full_disk_told(place, every=True), locked(place):
        listed = read_additions(BundleFiles(bundle))
        prune(place, listed.keep if keep is None else keep)


def _compact(bundle: BundleLike, keep: int | None) -> None:
    """Join a bundle while others write to it, whose writes go first.

    The lock is held only while the joined bundle takes its place. If somebody has written until
    then, it is made again, and the last time others wait.
    """
    for _ in range(TRIES):
        with suppress(ChangedError):
            _join_once(bundle, keep, late=True)
            return
    _join_once(bundle, keep, late=False)


def _join_once(bundle: BundleLike, keep: int | None, *, late: bool) -> None:
    with hint_packages(), BundleWriter(bundle, overwrite=True, late=late) as out:
        source = BundleFiles(bundle)
        listed, search = read_additions(source), open_search(source)
        listed = replace(listed, keep=listed.keep if keep is None else keep)
        if listed != of_base(source):
            with source.damage_reported():
                write_joined(join(read_parts(search)), source, out, listed)
        else:
            out.keep_out()
            prune(out.target, listed.keep)


def join_beside(bundle: BundleLike) -> None:
    """Join a bundle with what was added to it, unless another process is doing so.

    Raises:
        BundleError, BuildError: it cannot be read or written; it is as it was.
    """
    place = writable(on_disk(bundle))
    with ExitStack() as held:
        try:
            with waiting_at_most(0):
                held.enter_context(locked(place.with_name(f"{place.name}.join")))
        except BusyError:
            return
        _compact(bundle, None)


def restore(bundle: BundleLike, version: int) -> None:
    """Write a version that is as one from before additions were joined with the bundle.

    Raises:
        InputError: there is no such version.
    """
    with hint_packages(), BundleWriter(bundle, overwrite=True) as out:
        source = BundleFiles(bundle)
        before, search = read_additions(source), open_version(open_search(source), version)
        change = Change(documents=search.count(), restored=version)
        with search.files.damage_reported():
            write_joined(join(read_parts(search)), source, out, before, change)


def write_joined(
    joined: Joined,
    source: BundleFiles,
    out: BundleWriter,
    before: Additions | None = None,
    change: Change | None = None,
    provenance: Mapping[str, Any] = MappingProxyType({}),
    types: Mapping[str, str] | None = None,
) -> None:
    """Write documents as a bundle with the rankers of another one; see `analyse_again`.

    Args:
        joined: the documents.
        source: the bundle.
        out: the writer of the new one.
        before: the bundle's list if it is replaced; earlier versions that it does not keep go.
        change: what the next version changes; None if additions are joined only.
        provenance: facts that are added to the bundle's own provenance.
        types: the declared types of fields; None for those of the bundle.
    """
    manifest, needs = source.manifest, list_needs(source)
    words = list_words(manifest)
    found = analyse_again(*joined, titles=manifest.titles, words=words, **needs)
    facts: dict[str, Any] = {REMARKS: manifest.remarks}
    if before is not None:
        version = before if change is None else following(before, before, change)
        facts[HISTORY] = version.history
        keep = before.keep if change is None else max(before.keep, 1)
        if keep:
            out.around = partial(keep_base, source, before)
    types = manifest.declared if types is None else types
    write_indexed(source, found, out, manifest.splitting, {**facts, **provenance}, types=types)
    if before is not None:
        prune(out.target, keep)
