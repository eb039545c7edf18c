"""Map the files of a bundle read-only, from a folder or from an uncompressed zip.

Nothing is ever extracted. A zip member must be stored uncompressed and is mapped in place. So no
path inside an archive can escape, and no archive can swell.
"""

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from struct import error as StructError  # noqa: N812
from struct import unpack_from
from typing import IO, TYPE_CHECKING

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.address import shown
from ranklet.runtime.storage.block_array import AbsentFile

if TYPE_CHECKING:
    from zipfile import ZipInfo

UNMAPPED = 1 << 16  # bytes of a file that is read at once
_LOCAL_HEADER = 30  # bytes before a zip member's name; name and extra lengths are at 26 and 28
_LOCAL_MAGIC = b"PK\x03\x04"

# Documented and observed exceptions of zipfile for a damaged directory, besides its own.
_BAD_ZIP = (
    OSError,
    ValueError,
    NotImplementedError,
    IndexError,
    KeyError,
    EOFError,
    OverflowError,
    StructError,
    MemoryError,
)


def open_archive(path: Path) -> "Archive":
    """Open a bundle's folder or zip.

    Its `names` are relative POSIX paths, and `read` returns the mapped content of a file.

    Raises:
        BundleError: the path does not exist or is neither a folder nor a zip.
    """
    try:
        if path.is_dir():
            return _Folder(path)
        if path.is_file():
            return _Zip(path)
        exists = path.exists()
    except (OSError, ValueError) as error:  # no permission, a name too long, a NUL in it
        raise BundleError(f"{shown(path)!r} cannot be read: {error}") from error
    if exists:  # opening a pipe or a device could block forever
        raise BundleError(f"{shown(path)!r} is neither a folder nor a file, so it is not a bundle")
    hint = "; an address is a text that begins with s3://, https://, http:// or hf://"
    raise BundleError(
        f"no bundle at {shown(path)!r}; give the folder or the .zip that `ranklet build`, "
        f"`index` or `export` wrote{hint if ':/' in str(path) else ''}"
    )


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def has(self, name: str) -> bool:
        return (self._root / name).is_file()

    def inside(self, name: str) -> str:
        found = next(self._root.glob(f"*/{name}"), None)
        return found.relative_to(self._root).as_posix() if found else ""

    def names(self) -> set[str]:
        return {
            path.relative_to(self._root).as_posix()
            for path in self._root.rglob("*")
            if not path.is_dir()
        }

    def read(self, name: str) -> memoryview:
        path = self._root / name
        try:
            # A link may lead to another file inside the bundle, but never out of it.
            if not path.resolve().is_relative_to(self._root):
                raise BundleError(f"{name!r} is a link that leads out of the bundle")
            if not path.is_file():  # opening a pipe or a device could block forever
                raise BundleError(f"{name!r} of the bundle is not a file")
            with path.open("rb") as file:
                return _map(file.fileno())
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a loop
            raise BundleError(f"{name!r} of the bundle cannot be read: {error}") from error


def zip_members(shown: str, file: IO[bytes]) -> "dict[str, ZipInfo]":
    """Return the members of a zip by their names.

    Args:
        shown: names the zip in messages.
        file: the zip.

    Raises:
        BundleError: it is no zip, or a name occurs twice.
    """
    from zipfile import BadZipFile, ZipFile  # takes long, and folders do not need it

    try:
        with ZipFile(file) as archive:
            every = archive.infolist()
    except (BadZipFile, *_BAD_ZIP) as error:
        raise BundleError(
            f"{shown!r} is neither a bundle's folder nor a zip of one ({error}); give the "
            "folder or the .zip that `ranklet build` makes of texts"
        ) from error
    members: dict[str, ZipInfo] = {}
    for member in every:
        if member.filename.endswith("/"):  # is_dir() fails on an empty name
            continue
        if member.filename in members:
            raise BundleError(f"the zip holds {member.filename!r} twice")
        members[member.filename] = member
    return members


class ZipArchive(ABC):
    """A zip whose members are read where they lie.

    Args:
        members: the members by their names.
    """

    def __init__(self, members: "Mapping[str, ZipInfo]") -> None:
        self._members = members

    @property
    @abstractmethod
    def length(self) -> int:
        """The bytes of the zip."""

    @abstractmethod
    def part(self, begin: int, end: int) -> memoryview:
        """Return some bytes of the zip."""

    def content(self, name: str, begin: int, size: int) -> memoryview | AbsentFile:  # noqa: ARG002
        """Return the content of a member, which lies at `begin`."""
        return self.part(begin, begin + size)

    def has(self, name: str) -> bool:
        """Return whether there is a member of that name."""
        return name in self._members

    def inside(self, name: str) -> str:
        """Return a member of that name in a folder of the zip, "" if there is none."""
        return next((each for each in self._members if each.endswith(f"/{name}")), "")

    def names(self) -> set[str]:
        """Return the names of all members."""
        return set(self._members)

    def read(self, name: str) -> memoryview | AbsentFile:
        """Return the content of a member.

        Raises:
            BundleError: it is missing, compressed or damaged.
        """
        member = self._members.get(name)
        if member is None:
            raise BundleError(f"{name!r} of the bundle cannot be read: it is not in the zip")
        if member.compress_type or member.flag_bits & 1:
            raise BundleError(
                f"{name!r} is compressed or encrypted in the zip, so it cannot be mapped; write "
                "the zip by `ranklet index -o NAME.zip`, or in the bundle's folder by `zip -0 -r "
                "../NAME.zip .`"
            )
        header = member.header_offset
        if header < 0 or header + _LOCAL_HEADER > self.length:
            raise BundleError(f"{name!r} lies past the end of the zip, so the zip is damaged")
        name_at = header + _LOCAL_HEADER
        head = self.part(header, name_at)
        name_length, extra_length = unpack_from("<HH", head, 26)
        local_name = self.part(name_at, min(name_at + name_length, self.length))
        if head[:4] != _LOCAL_MAGIC or local_name != name.encode():
            raise BundleError(f"{name!r} is not where the zip's directory says; it is damaged")
        begin = name_at + name_length + extra_length
        if begin + member.file_size > self.length:
            raise BundleError(f"{name!r} lies past the end of the zip, so the zip is damaged")
        return self.content(name, begin, member.file_size)


class ZipInMemory(ZipArchive):
    """A zip that is on no disk yet.

    Args:
        content: the bytes of the zip.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__(zip_members("the zip", BytesIO(content)))
        self._data = memoryview(content)

    @property
    def length(self) -> int:
        """The bytes of the zip."""
        return len(self._data)

    def part(self, begin: int, end: int) -> memoryview:
        """Return some bytes of the zip."""
        return self._data[begin:end]


class _Zip(ZipInMemory):
    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                ZipArchive.__init__(self, zip_members(str(path), file))
                self._data = _map(file.fileno())
        except OSError as error:
            raise BundleError(
                f"{shown(path)!r} is neither a bundle's folder nor a zip of one: {error}"
            ) from error


Archive = _Folder | ZipArchive


def _map(descriptor: int) -> memoryview:
    """Return the content of a file, which is mapped unless it is small.

    A mapping keeps a descriptor, of which systems grant a process 1,024 or 256 by default.
    """
    if (size := os.fstat(descriptor).st_size) <= UNMAPPED:
        os.lseek(descriptor, 0, os.SEEK_SET)  # Windows has no pread
        return memoryview(os.read(descriptor, size))
    return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
