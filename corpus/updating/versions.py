"""Write the lists of a bundle's versions, and remove what no kept version needs.

The list of the version before stays under its number, and is on the disk before the new one takes
its place. Whoever is killed leaves only what no list names, which the next writer removes.
"""

import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from ranklet.runtime.bundles.additions import (
    Additions,
    Change,
    base_at,
    history,
    numbered,
    of_base,
    read_local,
)
from ranklet.runtime.bundles.files import BASE, LIST, BundleFiles, locate_additions
from ranklet.runtime.storage.address import Address, writable
from ranklet.runtime.writing.leftovers import remove
from ranklet.runtime.writing.syncing import sync_all, sync_folder, sync_tree

VERSIONS = 100  # that are kept until additions are joined with the bundle
AT_ONCE = 20  # versions that are removed at a time, because all others are read for it


def following(before: Additions, listed: Additions, change: Change) -> Additions:
    """Return a list as the version that follows another one."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return replace(
        listed, version=before.version + 1, change=replace(change, time=now),
        before=before.sha256, keep=before.keep,
    )  # fmt: skip


def publish(
    path: Path | Address,
    before: Additions,
    listed: Additions,
    new: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Put a list in the place of the one before, which stays as an earlier version.

    Whatever ends this with an error, all is as it was before, and nothing more is on the disk.

    Args:
        path: of the bundle.
        before: its list.
        listed: the new one.
        new: the contents of additions that it names, by their files' names.
    """
    folder = local_folder(path)
    text, place, earlier = listed.to_json().encode(), folder / LIST, numbered(before.version)
    partial, was_there = f".{LIST}.{secrets.token_hex(4)}.partial", place.exists()
    written = {**new, earlier: before.to_json().encode(), partial: text}
    try:
        make_additions_folder(path)
        for name, content in written.items():
            (folder / name).write_bytes(content)
        # All at once, because a wait for the disk takes longest here.
        sync_all([folder, *(folder / each for each in written)])
        (folder / partial).replace(place)
        sync_folder(folder)
    except BaseException as error:
        if read_local(place) == text:
            if not isinstance(error, OSError):  # an interruption comes too late
                raise
            if was_there:
                (folder / earlier).replace(place)
            else:
                place.unlink()
        _remove(folder, written)
        raise
    if listed.version % AT_ONCE == 0:
        prune(path, VERSIONS)


@contextmanager
def keep_base(files: BundleFiles, listed: Additions) -> Iterator[None]:
    """Keep a bundle that is replaced inside, and its list, as an earlier version.

    Its files are shared by links where a file system has them. If it is not replaced, nothing of
    this stays.
    """
    folder = make_additions_folder(files.path)
    earlier = folder / numbered(listed.version)
    source = writable(files.path if isinstance(files.path, Path) else files.path.raw)
    target = folder / f"{BASE}{listed.base[:16]}{'' if source.is_dir() else '.zip'}"
    partial = folder / f".{target.name}.{secrets.token_hex(4)}.partial"
    written = {earlier.name, partial.name}
    try:
        earlier.write_bytes(listed.to_json().encode())
        sync_all([earlier, folder])
        if not base_at(files, listed):
            written.add(target.name)
            if source.is_dir():
                shutil.copytree(source, partial, copy_function=_link)
            else:
                _link(source, partial)
            sync_tree(partial)
            partial.rename(target)
            sync_folder(folder)
        yield
    except BaseException:
        if of_base(BundleFiles(files.path)).base == listed.base:  # it is still there
            _remove(folder, written)
        raise


def prune(path: Path | Address, keep: int) -> None:
    """Remove all but some earlier versions of a bundle, and what killed writers left.

    Args:
        path: of the bundle.
        keep: how many earlier versions are kept.
    """
    folder, files = local_folder(path), BundleFiles(path)
    if not folder.is_dir():
        return
    newest, *earlier = islice(history(files), keep + 1)
    names = {LIST} if newest != of_base(files) else set()
    names |= {numbered(each.version) for each in earlier}
    names |= {f"{BASE}{each.base[:16]}" for each in earlier}
    names |= {part.file for each in (newest, *earlier) for part in each.parts}
    with suppress(OSError):
        gone = [each for each in folder.iterdir() if not {each.name, each.stem} & names]
        lists = [each for each in gone if each.suffix == ".json"]
        for each in lists:
            remove(each)
        if lists:
            sync_folder(folder)  # so that no list is left without what it names
        for each in gone:
            if each.suffix in (".zip", ".partial") or each.name.startswith(BASE):
                remove(each)
        if not names:
            folder.rmdir()


def make_additions_folder(path: Path | Address) -> Path:
    """Return the folder of a bundle's additions, which is there."""
    folder = local_folder(path)
    if not folder.is_dir():
        folder.mkdir()
        sync_folder(folder.parent)
    return folder


def local_folder(path: Path | Address) -> Path:
    """Return the folder of a bundle's additions.

    Raises:
        InputError: the bundle is at an address.
    """
    return Path(locate_additions(writable(path if isinstance(path, Path) else path.raw)))


def remove_strays(path: Path | Address, listed: Additions) -> None:
    """Remove what killed writers left, and versions of other bundles, before anything is written.

    Args:
        path: of the bundle, whose lock is held.
        listed: its list.
    """
    folder, own = local_folder(path), f"{listed.version:06d}"
    names = {each.file for each in listed.parts}
    with suppress(OSError):
        strays = [
            each.name
            for each in folder.iterdir()
            if each.suffix == ".partial"
            or (each.suffix in (".zip", ".json") and each.name[:1].isdigit() and each.name >= own)
        ]
        _remove(folder, set(strays) - names)


def _remove(folder: Path, names: Collection[str]) -> None:
    """Remove files of a folder, and the folder if nothing else is in it."""
    if names:
        with suppress(OSError):  # so that no list is left without what it names
            sync_folder(folder)
    for name in names:
        remove(folder / name)  # open on Windows; another writer removes it
    with suppress(OSError):
        folder.rmdir()


def _link(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give a file, which never changes, a second name; copy it where there are no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
