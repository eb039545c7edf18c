"""What a bundle was after each write to it, as far as that is kept."""

from dataclasses import dataclass

from ranklet.runtime.bundles.additions import Additions, base_at, history
from ranklet.runtime.bundles.files import BundleFiles


@dataclass(frozen=True)
class Version:
    """A version of a bundle, where the passages of a document count as one.

    Attributes:
        version: its number.
        time: when it was written, in UTC, such as ``2026-11-27T21:56:00+00:00``.
        documents: how many it has.
        added: how many were added since the version before.
        replaced: how many were replaced.
        deleted: how many were deleted.
        restored: the earlier version that it has brought back; None if it has not.
    """

    version: int
    time: str
    documents: int
    added: int
    replaced: int
    deleted: int
    restored: int | None


def versions(files: BundleFiles) -> list[Version]:
    """Return the versions of a bundle that can be read, the newest first.

    Raises:
        BundleError, RemoteError: one cannot be read.
    """
    return [_version(files, listed) for listed in history(files)]


def _version(files: BundleFiles, listed: Additions) -> Version:
    change = listed.change
    time, documents = change.time, change.documents
    if not time:
        place = None if listed.base == files.manifest.sha256 else base_at(files, listed)
        built = files if place is None else files.like(place)
        time, documents = built.manifest.created, built.need_documents().whole
    restored = None if change.restored < 0 else change.restored
    counts = change.added, change.replaced, change.deleted
    return Version(listed.version, time, documents, *counts, restored)
