"""Join a base with its additions into the bundle that a build of all documents would write."""

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
from ranklet.corpus.updating.live import local_folder, remove_unlisted
from ranklet.runtime.bundle import Bundle, open_search
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.bundles.files import BundleFiles, additions_of, stamp_of
from ranklet.runtime.bundles.manifest import REMARKS
from ranklet.runtime.extras import hinted
from ranklet.runtime.ranking import load
from ranklet.runtime.search.parted import PartedSearch
from ranklet.runtime.short_tracebacks import short_tracebacks
from ranklet.runtime.storage.address import BundleLike


@short_tracebacks
def compact(bundle: BundleLike) -> Bundle:
    """Join a bundle with what was added to it, in one step at the end; readers go on meanwhile.

    The result has the same bytes as one that is built from all documents, as after `update`.

    Args:
        bundle: a bundle on disk.

    Returns:
        The bundle, which is open.

    Raises:
        BundleError: it cannot be read.
        InputError: an address is given.
    """
    check_source(bundle, bundle)
    with hinted(), BundleWriter(bundle, overwrite=True) as out:
        source = BundleFiles(bundle)
        search = open_search(source)
        if isinstance(search, PartedSearch):
            with source.damage_reported():
                changes = _joined(search)
                provenance = {REMARKS: source.manifest.remarks}
                splitting, types = source.manifest.splitting, source.manifest.declared
                found = analyse_changes(changes, source)
                write_indexed(source, found, out, splitting, provenance, types=types)
        remove_unlisted(local_folder(Path(bundle)), None)
    return load(Path(bundle))


def compact_or_refuse(bundle: BundleLike, *, in_place: bool) -> None:
    """Join a bundle with what was added to it, if it will be replaced.

    Raises:
        InputError: it has additions and stays as it is.
    """
    if not in_place:
        refuse_additions(BundleFiles(bundle))
    elif stamp_of(additions_of(Path(bundle))):
        compact(bundle)


def _joined(search: PartedSearch) -> Changes:
    """Return all documents that are not deleted, each in its place."""
    files = [each.files for each in search.parts]
    parts, begins = search.documents.parts, search.documents.shifts.begins
    places = [np.arange(len(parts[0])), *(_places(each) for each in files[1:])]
    alive = np.flatnonzero(~search.deleted)
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
