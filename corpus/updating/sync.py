"""Bring a bundle to the state of a folder of texts, by live additions.

A list beside the bundle has the files of each folder as they were when they were last read. So only
files that changed are read, and only what the bundle holds of files that are gone is deleted. The
list says for which version of the bundle it was written. For another one it only says which files
there were, and all files are compared again.
"""

import logging
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from pathlib import Path

from ranklet.corpus.collections.opening import Position
from ranklet.corpus.sources.cells import Bad
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.paths import Files, list_source_files
from ranklet.corpus.sources.source import Problems
from ranklet.corpus.updating.changes import Counts, first_ids
from ranklet.corpus.updating.synced_files import (
    UNREAD,
    Seen,
    Synced,
    find_hidden,
    find_mounts,
    list_path,
    read_list,
    see_files,
    write_list,
)
from ranklet.corpus.updating.synced_table import check_deleted, holds_rows, sync_table
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.bundles.additions import Additions, history, read_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import CollectionError, InputError

_log = logging.getLogger(__name__)

_PAGE = "#page="  # between a file's path and a page's number, in the page's id


def sync(
    bundle: WritableBundle,
    folder: str | Path,
    options: SourceOptions | None = None,
    *,
    max_deleted: str | None = None,
) -> Counts:
    """Add what is new or changed in a folder or a table, and delete what is gone.

    Args:
        bundle: what was built of the folder, or of other texts; only ids of files that earlier
            calls saw in the folder are deleted.
        folder: a folder of texts and other documents, one per file, or with pages; or a table, of
            whose rows all documents of the bundle are.
        options: how they are read. Texts are split as those of the bundle were. With `skip_bad`,
            what the bundle holds of a file that cannot be read stays; `bundle.skipped` names it.
        max_deleted: how many documents may be deleted, such as "20%" or "500"; by default a fifth,
            or ten, if these are no more than half.

    Returns:
        What has changed.

    Raises:
        CollectionError: a file or a folder cannot be read; nothing is written then.
        InputError: more would be deleted, or a file has the path of one in another folder that
            the bundle was synced with.
    """
    if holds_rows(folder, options):
        return sync_table(bundle, folder, options, max_deleted)
    files = list_text_files(Path(folder), options)
    bundle._reload()
    before, path = read_additions(bundle.files), list_path(bundle)
    place, synced = _place(files), read_list(path)
    current = {name for name in synced if _is_current(bundle.files, synced[name].version)}
    known = synced.pop(place, None)
    old = known or Synced()
    trusted = place in current and old.options == _options(files)

    now, unreadable = see_files(files, old.files)
    synced = _without_moved(synced, now.keys())
    digests = {name: seen.sha256 for name, seen in old.files.items() if seen and trusted}
    changed = [name for name, seen in now.items() if seen.sha256 != digests.get(name)]
    missing = [
        name for name, seen in old.files.items()
        if name not in now and name not in unreadable and (seen or not trusted)
    ]  # fmt: skip
    hidden, why = find_hidden(files, missing, old.mounts)
    ids, damaged = _read_ids(files, changed)
    for name in now.keys() - {*changed}:
        if (seen := old.files[name]) and seen.fault:  # it is named again, but not read again
            damaged[name] = Bad(str(files.folder / name), "broken", seen.fault)
    problems = _find_problems([*why.values(), *unreadable.values(), *damaged.values()], files)

    touched = {*changed, *missing} - hidden - damaged.keys()
    here = {id_ for each in ids.values() for id_ in each}
    held = bundle.ids() if touched else ()
    gone = [id_ for id_ in held if id_ not in here and _file_of(id_) in touched]
    check_deleted(gone, len(bundle), max_deleted)
    if known is None:
        elsewhere = {name for each in synced.values() for name in each.files}
        _say_unknown(bundle, {*now, *elsewhere}, files)
    usable = [files.folder / name for name in changed if ids[name] or name not in damaged]
    if usable or gone:
        chosen = replace(files, paths=usable, unreadable=()) if usable else None
        bundle.change(chosen, gone, missing_ok=True, options=options)
    else:
        bundle.counts = Counts(unchanged=len(bundle))

    version = _version_after(before, read_additions(bundle.files))
    kept = dict.fromkeys([*hidden, *unreadable], UNREAD)
    kept |= {name: now[name]._replace(fault=bad.found) for name, bad in damaged.items()}
    mounts = find_mounts(files) | (why.keys() & set(old.mounts))
    own = Synced(
        version, _options(files), {**dict.fromkeys(old.files), **now, **kept},
        tuple(sorted(mounts)),
    )  # fmt: skip
    other = {
        name: replace(each, version=version) if name in current else each
        for name, each in synced.items()
    }
    write_list(path, {**other, place: own})
    bundle.skipped = tuple(problems.splitlines())
    return bundle.counts


def list_text_files(folder: Path, options: SourceOptions | None = None) -> Files:
    """Return the files of a folder that has a document, or pages, per file.

    Raises:
        InputError: it is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give the one that it lies in, or a table")
    return list_source_files(folder, options or SourceOptions())


def remember(bundle: WritableBundle, files: Files, seen: dict[str, Seen], *, whole: bool) -> None:
    """Write the list of the files that a bundle was just built of.

    Args:
        bundle: the bundle.
        files: the files.
        seen: the files as they were before they were read.
        whole: whether all could be read; else they are compared again by the next `sync`.
    """
    version = _version(read_additions(bundle.files)) if whole else ""
    own = Synced(version, _options(files), seen, tuple(sorted(find_mounts(files))))
    write_list(list_path(bundle), {_place(files): own})


def _place(files: Files) -> str:
    return str(files.folder.resolve())


def _options(files: Files) -> str:
    """Return how files are read; what cannot be read is read again with any options."""
    return str(replace(files.options, skip_bad=False))


def _version(listed: Additions) -> str:
    """Return what names a version of a bundle, before and after additions are joined with it."""
    return f"{listed.version} {listed.change.time} {listed.before or listed.base}"


def _version_after(before: Additions, after: Additions) -> str:
    """Return the version that a write of ours led to, "" if another program wrote meanwhile."""
    return _version(after) if before.sha256 in (after.sha256, after.before) else ""


def _is_current(files: BundleFiles, version: str) -> bool:
    """Return whether a bundle has all documents of a version as they were then."""
    for listed in history(files):
        if _version(listed) == version:
            return True
        if listed.change.replaced or listed.change.deleted or listed.change.restored >= 0:
            break
    return False


def _without_moved(synced: dict[str, Synced], names: Set[str]) -> dict[str, Synced]:
    """Return what the list has of other folders, without files that moved to this one.

    Raises:
        InputError: a file has the path of one in another folder.
    """
    left = dict[str, Synced]()
    for folder, own in synced.items():
        both = sorted(name for name in names & own.files.keys() if own.files[name])
        if both and Path(folder).is_dir():
            raise InputError(
                f"{first_ids(both)} would replace what the bundle has of {folder}; give the files "
                "other names, or put both folders into one and sync that"
            )
        others = {name: seen for name, seen in own.files.items() if name not in names}
        if both and (stay := sum(map(bool, others.values()))):
            _log.warning("%s is not there any more; what it had else stays: %d files", folder, stay)
        left[folder] = replace(own, files=others)
    return left


def _read_ids(files: Files, names: Iterable[str]) -> tuple[dict[str, set[str]], dict[str, Bad]]:
    """Return the ids of the documents in some files, and what is wrong with a file, by path."""
    ids, damaged = dict[str, set[str]](), dict[str, Bad]()
    for name in names:
        ids[name] = set()
        one = replace(files, paths=[files.folder / name], unreadable=())
        for each in one.records(Position(0)):
            if isinstance(each, Bad):
                damaged.setdefault(name, each)
            elif any(str(each.fields[field]).strip() for field in ("title", "text")):
                ids[name].add(each.fields["id"])
    return ids, damaged


def _find_problems(faults: Sequence[Bad], files: Files) -> str:
    """Return in lines what cannot be read.

    Raises:
        CollectionError: something cannot, and `skip_bad` is not set.
    """
    problems = Problems()
    for each in faults:
        problems.add(each)
    if faults and not files.options.skip_bad:
        raise CollectionError(
            f"nothing was changed, because a part of {files.folder} cannot be read:\n{problems}\n"
            f"{problems.hint()}"
        )
    return str(problems)


def _say_unknown(bundle: WritableBundle, names: Set[str], files: Files) -> None:
    """Say which documents are of no known file, because some of them may be gone."""
    if unknown := [id_ for id_ in bundle.ids() if _file_of(id_) not in names]:
        _log.warning(
            "no list says which files %s had before, so documents of no file stay: %s; delete "
            "those that are gone by `ranklet update %s --delete`",
            files.folder, f"{len(unknown):,} ({first_ids(unknown)})", bundle.path,
        )  # fmt: skip


def _file_of(id_: str) -> str:
    """Return the path of the file that has a document.

    >>> _file_of("a.pdf#page=2"), _file_of("b#page=2.txt")
    ('a.pdf', 'b#page=2.txt')
    """
    name, _, page = id_.rpartition(_PAGE)
    return name if page.isdecimal() else id_
