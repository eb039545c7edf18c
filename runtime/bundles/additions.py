"""Read which additions a bundle has, and which of its documents are deleted.

A bundle never changes. What is written to it later lies beside it, in the folder NAME.additions:
small bundles, the additions, and one list that is replaced whenever something is added or deleted.
The list names the manifest that it belongs to. So a new bundle in the place of the old one has no
additions from its first moment on, whatever lies there.
"""

import json
import re
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from ranklet.runtime.bundles.files import LIST, BundleFiles, Check, additions_of, file_in
from ranklet.runtime.bundles.manifest import (
    FORMAT_VERSION,
    MAX_MANIFEST_BYTES,
    digest_without,
    sealed,
)
from ranklet.runtime.bundles.parts import AdditionFiles
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.storage.address import S3, Address

_FILE = re.compile(r"[0-9a-f-]{1,40}\.zip")  # of an addition


@dataclass(frozen=True)
class Addition:
    """One addition, as the list has it."""

    file: str  # its name in the folder
    bytes: int
    sha256: str  # of its manifest, which has the sha256 of every file in it


@dataclass(frozen=True)
class Additions:
    """What was added to a bundle and deleted of it.

    Attributes:
        base: the sha256 of the manifest of the bundle.
        version: how often the list was replaced; 0 if nothing was ever added or deleted.
        next: the place that the next new document gets in the order of all documents.
        parts: the additions.
        deleted: numbers of the deleted documents of the bundle and of each addition, ascending.
    """

    base: str
    next: int
    version: int = 0
    parts: tuple[Addition, ...] = ()
    deleted: tuple[tuple[int, ...], ...] = ((),)

    def to_json(self) -> str:
        """Return the text of the list."""
        return sealed({"format_version": FORMAT_VERSION, **asdict(self)})

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
            read = cls(**raw, parts=parts, deleted=deleted)
            numbers = [read.next, read.version, *chain.from_iterable(deleted)]
            if not all(type(each) is int and 0 <= each < 1 << 62 for each in numbers):
                raise ValueError("a number is none")
            if not all(_FILE.fullmatch(each.file) for each in parts):
                raise ValueError("a file has another name")
            if len(deleted) != len(parts) + 1:
                raise ValueError("it does not say which documents of each part are deleted")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise BundleError(f"{where} is damaged: {error}; run `ranklet verify`") from error
        return read


def read_additions(files: BundleFiles) -> Additions:
    """Return what was added to a bundle, which is nothing if its list is another bundle's.

    Raises:
        BundleError: the list is damaged.
        RemoteError: it cannot be read.
    """
    none = Additions(files.manifest.sha256, files.manifest.documents)
    if not files.manifest.documents:
        return none
    place = file_in(additions_of(files.path), LIST)
    text = _remote(place) if isinstance(place, Address) else _local(place)
    found = none if text is None else Additions.from_json(text, str(place))
    return found if found.base == none.base else none


def refuse_additions(files: BundleFiles) -> None:
    """Raise InputError if something was added to a bundle, of which only the base is read."""
    if read_additions(files).version:
        raise InputError(
            f"documents were added to {str(files.path)!r} or deleted, which are not in the bundle "
            f"itself yet; run `ranklet compact {files.path}` first"
        )


def open_addition(files: BundleFiles, addition: Addition, check: Check = "fast") -> AdditionFiles:
    """Open an addition of a bundle; `check` is as for a bundle.

    Raises:
        BundleError: it is missing, or another file than the list names.
    """
    path = file_in(additions_of(files.path), addition.file)
    opened = AdditionFiles(path, files, check)
    if opened.manifest.sha256 != addition.sha256:
        raise BundleError(f"{str(path)!r} is another addition than {LIST} names")
    return opened


def _local(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BundleError(f"{str(path)!r} cannot be read: {error}") from error


def _remote(address: Address) -> bytes | None:
    from ranklet.runtime.object_storage.http_ranges import HTTPRanges
    from ranklet.runtime.object_storage.s3_ranges import S3Ranges
    from ranklet.runtime.object_storage.transport import AbsentError

    if "?" in address.raw:  # signed, so nothing beside it can be read
        return None
    ranges = S3Ranges if address.lower().startswith(f"{S3}:") else HTTPRanges
    transport = ranges(address)
    try:
        text = transport.last(MAX_MANIFEST_BYTES).data
        # Some web servers answer with a page of theirs where they have no file.
        return text if text.lstrip().startswith(b"{") else None
    except AbsentError:
        return None
    finally:
        transport.close()
