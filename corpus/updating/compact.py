"""Join a base with its additions into the bundle that a build of all documents would write."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ranklet.corpus.building.writer import BundleWriter, check_source
from ranklet.corpus.building.writing import write_indexed
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.reuse import Contents, first_passages
from ranklet.corpus.sources.bundle_documents import metadata_of_each
from ranklet.corpus.updating.addition import PLACES
from ranklet.corpus.updating.changes import Changes, Counts, analyse_changes
from ranklet.corpus.updating.versions import following, keep_base, prune
from ranklet.runtime.bundle import Bundle, open_search, open_version
from ranklet.runtime.bundles.additions import (
    HISTORY,
    Additions,
    Change,
    of_base,
    read_additions,
    refuse_additions,
)
from ranklet.runtime.bundles.files import BundleFiles, additions_of, stamp_of
from ranklet.runtime.bundles.manifest import REMARKS
from ranklet.runtime.bundles.parts import Shifts
from ranklet.runtime.errors import InputError
from ranklet.runtime.extras import hinted
from ranklet.runtime.ranking import load
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.search.parted import parts_of
from ranklet.runtime.short_tracebacks import short_tracebacks
from ranklet.runtime.storage.address import BundleLike


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
        BundleError: it cannot be read.
        InputError: an address is given, or `keep` is below 0.
    """
    check_source(bundle, bundle)
    if keep is not None and not 0 <= keep < 1 << 62:
        raise InputError(f"keep is {keep:,}; give 0 to keep no earlier version, or a number above")
    with hinted(), BundleWriter(bundle, overwrite=True) as out:
        source = BundleFiles(bundle)
        listed, search = read_additions(source), open_search(source)
        listed = replace(listed, keep=listed.keep if keep is None else keep)
        if listed != of_base(source):
            _write(search, listed, source, out)
        prune(out.target, listed.keep)
    return load(Path(bundle))


def restore(bundle: BundleLike, version: int) -> None:
    """Write a version that is as one from before additions were joined with the bundle.

    Raises:
        InputError: there is no such version.
    """
    with hinted(), BundleWriter(bundle, overwrite=True) as out:
        source = BundleFiles(bundle)
        before, search = read_additions(source), open_version(open_search(source), version)
        change = Change(documents=search.count(), restored=version)
        _write(search, following(before, before, change), source, out, before)
        prune(out.target, before.keep)


def _write(
    search: LocalSearch,
    listed: Additions,
    source: BundleFiles,
    out: BundleWriter,
    before: Additions | None = None,
) -> None:
    """Write the documents of a search in the place of a bundle, which is kept if it has to be.

    Args:
        search: the documents.
        listed: the version that is written.
        source: the bundle.
        out: its writer.
        before: the version before, if it is another one.
    """
    if listed.keep:
        keep_base(source, before or listed)
    with source.damage_reported():
        changes = _joined(search)
        provenance = {REMARKS: source.manifest.remarks, HISTORY: listed.history}
        splitting, types = source.manifest.splitting, source.manifest.declared
        found = analyse_changes(changes, search.files)
        write_indexed(source, found, out, splitting, provenance, types=types)


def compact_or_refuse(bundle: BundleLike, *, in_place: bool) -> None:
    """Join a bundle with what was added to it, if it will be replaced.

    Raises:
        InputError: it has additions and stays as it is.
    """
    if not in_place:
        refuse_additions(BundleFiles(bundle))
    elif stamp_of(additions_of(Path(bundle))):
        compact(bundle)


def _joined(search: LocalSearch) -> Changes:
    """Return all documents that are not deleted, each in its place."""
    files = [each.files for each in parts_of(search)]
    parts = [each.need_documents() for each in files]
    begins = Shifts(list(map(len, parts))).begins
    places = [np.arange(len(parts[0])), *(_places(each) for each in files[1:])]
    mask = search.allowed()
    alive = np.arange(begins[-1]) if mask is None else np.flatnonzero(mask)
    order = alive[np.argsort(np.concatenate(places)[alive], kind="stable")]
    part = np.searchsorted(begins, order, side="right") - 1
    number = order - begins[part]
    firsts = np.concatenate([first_passages(each) for each in parts])
    begin = np.append(True, (np.diff(part) != 0) | (np.diff(firsts[order]) != 0))
    first = np.maximum.accumulate(np.where(begin, np.arange(len(order)), 0))
    origins = Origins.of(files, part.astype(np.int64), number.astype(np.int64))
    wholes = np.flatnonzero(begin)
    chosen = list(zip(part[wholes].tolist(), number[wholes].tolist(), strict=True))
    metadata = metadata_of_each(files, chosen)
    contents = Contents.joined(origins, parts, first, metadata)
    return Changes(contents, origins, Counts(unchanged=len(wholes)))


def _places(files: BundleFiles) -> Any:
    return files.array(PLACES, np.int64, (files.manifest.documents,))
