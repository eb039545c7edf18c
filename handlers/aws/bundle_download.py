"""Download the zip of a bundle from S3, once, to a folder of this user under the temporary one."""

import os
import tempfile
import time
from contextlib import closing, suppress
from hashlib import file_digest, sha256
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.object_storage.cache_folder import locks
from ranklet.runtime.object_storage.s3_ranges import S3Ranges
from ranklet.runtime.object_storage.transport import AbsentError, Part, ReplacedError
from ranklet.runtime.storage.address import Address
from ranklet.runtime.writing.private_folder import private_folder

TRIES = 3  # downloads that start again because the object was replaced
KEEP_SECONDS = 3600  # older versions stay this long, because another process may still map one
_DIGEST_BYTES = 4096  # at most, of an object with a sha256


class Source(NamedTuple):
    """The zip of a bundle on this machine, `proven` if it has the sha256 that was published."""

    path: Path
    proven: bool


def fetch(address: str, digest: str | None = None, folder: Path | None = None) -> Source:
    """Download an object of S3 unless this machine has it. Several processes may do so at once.

    Args:
        address: ``s3://bucket/key``.
        digest: the sha256 that the object must have, if it is known.
        folder: where downloads go, by default a private one under the temporary folder.

    Raises:
        InputError, BundleError, RemoteError: as `open_bundle`.
    """
    s3 = S3Ranges(Address(address))
    folder = _private_folder() if folder is None else folder
    name = sha256(address.encode()).hexdigest()[:16]
    with closing(s3), (folder / f"{name}.lock").open("w") as lock:
        fcntl = locks()
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process downloads; the others wait and find the file
        for _ in range(TRIES):
            part = s3.last(1)
            expected = digest or _published(s3, part)
            # The name stands for the version and its proof, so the content of a name never changes.
            version = sha256(f"{part.etag} {part.size} {expected}".encode()).hexdigest()[:16]
            path = folder / f"{name}-{version}.zip"
            try:
                if not _is_there(path, part.size):
                    _download(s3, part, path, expected)
            except ReplacedError:  # replaced meanwhile; read the new version from its beginning
                continue
            _remove_others(folder, name, path)
            return Source(path, expected is not None)
    raise BundleError(f"{s3.address} was replaced {TRIES} times while it was being read; try again")


def _published(s3: S3Ranges, part: Part) -> str | None:
    """Return the sha256 that was published with the object, None if there is none."""
    if part.sha256 is not None:
        return checked(part.sha256, f"the metadata sha256 of {s3.address}")
    with closing(S3Ranges(Address(f"{s3.address.raw}.sha256"))) as sibling:
        try:
            words = sibling.last(_DIGEST_BYTES).data.decode("utf-8", "replace").split()
        except AbsentError:  # 403, too, if the caller may not list the bucket
            return None
        return checked((words or [""])[0], str(sibling.address))


def _is_there(path: Path, size: int) -> bool:
    """Return whether an earlier download can be used, and mark it as used now."""
    try:
        status = path.stat()
        if status.st_size != size:  # somebody truncated it
            return False
        # The time of the last change stays the same, because `load` recognises files by it.
        os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))
    except FileNotFoundError:
        return False
    return True


def _download(s3: S3Ranges, version: Part, path: Path, expected: str | None) -> None:
    free = disk_usage(path.parent).free
    if version.size > free:
        raise BundleError(
            f"{s3.address} has {version.size:,} bytes, but {str(path.parent)!r} has room for "
            f"{free:,}; give the function more ephemeral storage"
        )
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            s3.copy(version, file.fileno())
        with part.open("rb") as file:
            actual = file_digest(file, "sha256").hexdigest() if expected else None
        if actual != expected:
            raise BundleError(
                f"{s3.address} has the sha256 {actual}, but {expected} was published. It is "
                "damaged or another file, and the download was removed; upload it again"
            )
        part.rename(path)  # so that no other process ever sees an incomplete file
    except OSError as error:
        raise BundleError(f"{s3.address} cannot be written to {str(part)!r}: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def _remove_others(folder: Path, name: str, current: Path) -> None:
    """Remove old versions and the parts of crashed processes. Mapped files stay mapped."""
    for path in folder.glob(f"{name}-*"):
        with suppress(OSError):
            if path != current and time.time() - path.stat().st_atime > KEEP_SECONDS:
                path.unlink()


def _private_folder() -> Path:
    """Return a folder that only this user can write to, because all users can write to /tmp."""
    folder = Path(tempfile.gettempdir()) / f"ranklet-{os.getuid()}"
    return private_folder(folder, "move it away")


def checked(digest: str, source: str) -> str:
    """Return a sha256 in small letters.

    Raises:
        InputError: it is none; the message names its source.
    """
    lowered = digest.lower()
    if len(lowered) != 64 or set(lowered) - set("0123456789abcdef"):
        raise InputError(f"{source} is {digest[:80]!r}; a sha256 has 64 hexadecimal digits")
    return lowered
