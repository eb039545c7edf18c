"""Read which additions a bundle has, and which of its documents are deleted.

A bundle never changes. What is written to it later lies beside it, in the folder NAME.additions:
small bundles, the additions, and one list that is replaced whenever something is added or deleted.
The list names the manifest that it belongs to. So a new bundle in the place of the old one has no
additions from its first moment on, whatever lies there.

Nothing that a list names ever changes. So an earlier list, which stays under its number, is an
earlier version of the bundle, as long as what it names is there; each list names the one before.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from ranklet.runtime.bundles.files import BASE, LIST, BundleFiles, Check, file_in, locate_additions
from ranklet.runtime.bundles.manifest import (
    FORMAT_VERSION,
    MAX_MANIFEST_BYTES,
    digest_without,
    seal_manifest,
)
from ranklet.runtime.bundles.segments import AdditionFiles
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.storage.address import S3, Address

HISTORY = "history"  # in the provenance: which version of a bundle was joined; see `of_base`
_FILE = re.compile(r"[0-9a-f-]{1,40}\.zip")  # of an addition


@dataclass(frozen=True)
class Addition:
    """One addition, as the list has it."""

    file: str  # its name in the folder
    bytes: int
    sha256: str  # of its manifest, which has the sha256 of every file in it


@dataclass(frozen=True)
class Change:
    """What a version of a bundle has changed, where the passages of a document count as one."""

    time: str = ""  # of its write, in UTC; "" for a bundle as it was built
    documents: int = 0  # that there are since
    added: int = 0
    replaced: int = 0
    deleted: int = 0
    restored: int = -1  # the version that it has brought back; −1 if it has not


@dataclass(frozen=True)
class Additions:
    """What was added to a bundle and deleted of it.

    Attributes:
        base: the sha256 of the manifest of the bundle.
        version: how often the bundle was written to; 0 if nothing was ever added or deleted.
        next: the place that the next new document gets in the order of all documents.
        parts: the additions.
        deleted: numbers of the deleted documents of the bundle and of each addition, ascending.
        change: how this version differs from the one before.
        before: the sha256 of the list of the version before; "" if there was none.
        keep: how many earlier versions are kept when additions are joined with the bundle.
    """

    base: str
    next: int
    version: int = 0
    parts: tuple[Addition, ...] = ()
    deleted: tuple[tuple[int, ...], ...] = ((),)
    change: Change = field(default_factory=Change)
    before: str = ""
    keep: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the documents are those of the bundle itself."""
        return not self.parts and not any(self.deleted)

    @cached_property
    def sha256(self) -> str:
        """The sha256 that the list states of itself."""
        return str(json.loads(self.to_json())["sha256"])

    @cached_property
    def history(self) -> dict[str, Any]:
        """What a bundle's provenance says once the additions are joined with it."""
        stated = ("version", "change", "before", "keep")
        return {name: value for name, value in asdict(self).items() if name in stated}

    def to_json(self) -> str:
        """Return the text of the list."""
        return seal_manifest({"format_version": FORMAT_VERSION, **asdict(self)})

    @classmethod
    def from_json(cls, text: bytes, where: str) -> "Additions":
        """Read a list.

        Raises:
            BundleError: it is damaged, or another version of ranklet wrote it.
        """
        try:
            raw = json.loads(text)
            digest, version = raw.pop("sha256"), raw.pop("format_version")
            if digest_without(text, digest) != digest:
                raise ValueError("its sha256 differs")
            if version != FORMAT_VERSION:
                raise ValueError(f"it has the format version {version} of another ranklet")
            parts = tuple(Addition(**each) for each in raw.pop("parts"))
            deleted = tuple(tuple(each) for each in raw.pop("deleted"))
            change = Change(**raw.pop("change"))
            read = cls(**raw, parts=parts, deleted=deleted, change=change)
            _check_history(read)
            numbers = [read.next, *chain.from_iterable(deleted)]
            if not all(type(each) is int and 0 <= each < 1 << 62 for each in numbers):
                raise ValueError("a number is none")
            if not all(_FILE.fullmatch(each.file) for each in parts):
                raise ValueError("a file has another name")
            if len(deleted) != len(parts) + 1:
                raise ValueError("it does not say which documents of each part are deleted")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise BundleError(f"{where} is damaged: {error}; run `ranklet verify`") from error
        return read


def _check_history(listed: Additions) -> None:
    """Raise ValueError unless what a list says of its version is of the right types."""
    change = listed.change
    numbers = [listed.version, listed.keep, *list(asdict(change).values())[1:-1]]
    if not all(type(each) is int and 0 <= each < 1 << 62 for each in numbers):
        raise ValueError("a number is none")
    if type(change.restored) is not int or {type(change.time), type(listed.before)} != {str}:
        raise ValueError("it does not say what was changed")


def of_base(files: BundleFiles) -> Additions:
    """Return the list of a bundle to which nothing was added since it was built or joined."""
    none = Additions(files.manifest.sha256, files.manifest.documents)
    held: Any = files.manifest.provenance.get(HISTORY)
    try:
        known = replace(none, **{**held, "change": Change(**held["change"])})
        _check_history(known)
    except (ValueError, TypeError, KeyError, AttributeError):  # it was never joined
        return none
    return known


def read_additions(files: BundleFiles) -> Additions:
    """Return what was added to a bundle, which is nothing if its list is another bundle's.

    Raises:
        BundleError: the list is damaged.
        RemoteError: it cannot be read.
    """
    none = of_base(files)
    if not files.manifest.documents:
        return none
    found = _read_list(files, LIST) or none
    return found if found.base == none.base else none


def history(files: BundleFiles) -> Iterator[Additions]:
    """Yield the list of a bundle, and those of its earlier versions that are there, newest first.

    Raises:
        BundleError: a list is damaged.
        RemoteError: one cannot be read.
    """
    listed: Additions | None = read_additions(files)
    while listed is not None and (listed.base == files.manifest.sha256 or base_at(files, listed)):
        yield listed
        before = listed.before
        listed = _read_list(files, numbered(listed.version - 1)) if before else None
        if listed is not None and listed.sha256 != before:  # another bundle's
            return


def open_earlier(files: BundleFiles, version: int) -> tuple[BundleFiles, Additions]:
    """Return the bundle and the list that an earlier version consists of.

    Raises:
        InputError: there is no such version any more, or never was.
        BundleError, RemoteError: it cannot be read.
    """
    first = newest = None
    for listed in history(files):
        first, newest = listed.version, listed.version if newest is None else newest
        if first == version:
            if listed.base == files.manifest.sha256:
                return files, listed
            return files.like(base_at(files, listed) or files.path), listed
    raise InputError(
        f"there is no version {version!r:.40} of {str(files.path)!r}; there are {first} to "
        f"{newest}, which `ranklet log` lists"
    )


def numbered(version: int) -> str:
    """Return the name of the list of an earlier version."""
    return f"{version:06d}.json"


def base_at(files: BundleFiles, listed: Additions) -> Path | Address | None:
    """Return the place of a bundle that was joined since, None if it was not kept."""
    folder, name = locate_additions(files.path), f"{BASE}{listed.base[:16]}"
    if isinstance(folder, Address):
        return file_in(folder, f"{name}.zip")  # asking for it would take a request
    places = (folder / name, folder / f"{name}.zip")
    return next((each for each in places if each.exists()), None)


def _read_list(files: BundleFiles, name: str) -> Additions | None:
    """Return a list beside a bundle; None if there is none."""
    place = file_in(locate_additions(files.path), name)
    text = _list_at(place) if isinstance(place, Address) else read_local(place)
    return None if text is None else Additions.from_json(text, str(place))


def refuse_additions(files: BundleFiles) -> None:
    """Raise InputError if something was added to a bundle, of which only the base is read."""
    if not read_additions(files).is_empty:
        raise InputError(
            f"documents were added to {str(files.path)!r} or deleted, which are not in the bundle "
            f"itself yet; run `ranklet compact {files.path}` first"
        )


def open_addition(files: BundleFiles, addition: Addition, check: Check = "fast") -> AdditionFiles:
    """Open an addition of a bundle; `check` is as for a bundle.

    Raises:
        BundleError: it is missing, or another file than the list names.
    """
    path = file_in(locate_additions(files.path), addition.file)
    opened = AdditionFiles(path, files, check)
    if opened.manifest.sha256 != addition.sha256:
        raise BundleError(f"{str(path)!r} is another addition than {LIST} names")
    return opened


def read_local(path: Path) -> bytes | None:
    """Return the content of a file; None if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BundleError(f"{str(path)!r} cannot be read: {error}") from error


def _list_at(address: Address) -> bytes | None:
    text = read_remote(address)
    # Some web servers answer with a page of theirs where they have no file.
    return None if text is None or not text.lstrip().startswith(b"{") else text


def read_remote(address: Address) -> bytes | None:
    """Return a small object beside a bundle; None if there is none."""
    from ranklet.runtime.object_storage.http_ranges import HTTPRanges
    from ranklet.runtime.object_storage.s3_ranges import S3Ranges
    from ranklet.runtime.object_storage.transport import AbsentError

    if "?" in address.raw:  # signed, so nothing beside it can be read
        return None
    ranges = S3Ranges if address.lower().startswith(f"{S3}:") else HTTPRanges
    transport = ranges(address)
    try:
        return transport.last(MAX_MANIFEST_BYTES).data
    except AbsentError:
        return None
    finally:
        transport.close()
