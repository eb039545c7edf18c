"""Bring a bundle to the state of a folder of texts, by live additions.

What a file held is known by its digest, from a list beside the bundle. So only files that changed
are read, and what the bundle holds of files that are gone is deleted.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.paths import Files, files_of
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.changes import Counts
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.writing.atomic_file import atomic_file

STATE = ".sync.json"  # ends the name of the list, which begins with the bundle's


class Seen(NamedTuple):
    """A file as it was when it was last read."""

    size: int
    changed: int  # ns
    sha256: str


def sync(
    bundle: WritableBundle, folder: str | Path, options: SourceOptions | None = None
) -> Counts:
    """Add what is new or changed in a folder, and delete what is gone.

    Args:
        bundle: what was built of the folder, or of other texts; only ids of the folder's files, as
            of the last call, are deleted.
        folder: a folder of texts and other documents, one per file, or with pages.
        options: how they are read. Texts are split as those of the bundle were.

    Returns:
        What has changed.

    Raises:
        CollectionError: a file cannot be read; nothing is written then.
        InputError: it is no folder of texts.
    """
    root = Path(folder)
    files = folder_of_texts(root, options)
    place = state_of(bundle)
    before = _read(place)
    now = _state(files, before)
    digests = {name: seen.sha256 for name, seen in before.items()}
    changed = [name for name, seen in now.items() if seen.sha256 != digests.get(name)]
    chosen = replace(files, paths=[root / name for name in changed])
    ids = {each.id for each in Source(chosen, files.options).whole()} if changed else set()
    touched = {*changed, *(before.keys() - now.keys())}
    gone = [id_ for id_ in bundle.ids() if id_ not in ids and id_.partition("#page=")[0] in touched]
    if changed or gone:
        bundle.change(chosen if changed else None, gone, missing_ok=True, options=options)
    else:
        bundle.counts = Counts(unchanged=len(bundle))
    _write(place, now)
    return bundle.counts


def folder_of_texts(folder: Path, options: SourceOptions | None = None) -> Files:
    """Return the files of a folder that has a document, or pages, per file.

    Raises:
        InputError: it is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; `ranklet update` adds the documents of a file")
    files = files_of(folder, options or SourceOptions())
    if not files.are_texts:
        raise InputError(
            f"{folder} has tables, whose rows have ids of their own; add them by `ranklet update`"
        )
    return files


def state_of(bundle: WritableBundle) -> Path:
    """Return the place of the list of files."""
    path = Path(bundle)
    return path.with_name(f"{path.name}{STATE}")


def remember(bundle: WritableBundle, files: Files) -> None:
    """Write the list of the files that a bundle was just built of."""
    _write(state_of(bundle), _state(files, {}))


def _state(files: Files, before: Mapping[str, Seen]) -> dict[str, Seen]:
    """Return all files as they are, by their paths below the folder."""
    named = {path.relative_to(files.folder).as_posix(): path for path in files.paths}
    return {name: _seen(path, before.get(name)) for name, path in named.items()}


def _seen(path: Path, known: Seen | None) -> Seen:
    """Return a file as it is now; it is read only if its size or time has changed."""
    try:
        found = path.stat()
        if known and (known.size, known.changed) == (found.st_size, found.st_mtime_ns):
            return known
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CollectionError(f"{path} cannot be read: {error}") from error
    return Seen(found.st_size, found.st_mtime_ns, digest)


def _read(place: Path) -> dict[str, Seen]:
    """Return the list of files; a damaged one lets all files be read again."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        raw = json.loads(place.read_text("utf-8"))
        return {name: Seen(*values) for name, values in raw.items()}
    return {}


def _write(place: Path, files: Mapping[str, Seen]) -> None:
    with atomic_file(place) as file:
        file.write(json.dumps(files, ensure_ascii=False).encode())
