"""Where a bundle comes from: a folder or zip that is there, or an object in S3 that is fetched.

A bundle that is there (in the image, in /tmp, on EFS) is mapped where it lies. An object
``s3://bucket/key`` is a bundle's zip; it is downloaded once to a folder of this user's under the
temporary one, and mapped there by every process.
"""

import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from hashlib import file_digest, sha256
from pathlib import Path
from shutil import disk_usage
from stat import S_ISDIR

from ranklet.handlers.aws.s3 import MovedError, Object, Store
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.ranking import BUNDLE_VARIABLE, load

SHA256_VARIABLE = "RANKLET_BUNDLE_SHA256"
TRIES = 3  # an object that is replaced again and again while it is read is nobody's bundle
KEPT_SECONDS = 3600  # another process may be about to map an older version
SCHEME = "s3://"


@dataclass(frozen=True)
class Source:
    """A bundle that is on this machine now.

    Attributes:
        path: of its folder or zip.
        proven: its sha256 is the one that was published; nothing else has been read so far.
    """

    path: Path
    proven: bool = False


def open_bundle(where: str | None = None, digest: str | None = None) -> Bundle:
    """Load the bundle of a path or an address.

    Args:
        where: a path, or ``s3://bucket/key``; None takes RANKLET_BUNDLE.
        digest: the sha256 that an object must have; None takes RANKLET_BUNDLE_SHA256, then what
            the object says (its metadata ``sha256``, or an object ``key.sha256`` beside it).

    Raises:
        InputError: no path is given, or the address or digest has not the form of one.
        BundleError: it cannot be had, is not what was published, or is no bundle.
    """
    where = where or os.environ.get(BUNDLE_VARIABLE) or ""
    if not where:
        raise InputError(f"no bundle: set {BUNDLE_VARIABLE} to a path or to s3://bucket/key")
    if not where.startswith(SCHEME):
        return load(where)
    found = fetch(where, digest or os.environ.get(SHA256_VARIABLE) or None)
    # Without a published sha256 the bundle's own digests tell whether it came over whole.
    return load(found.path, check="fast" if found.proven else "full")


def fetch(address: str, digest: str | None = None, folder: Path | None = None) -> Source:
    """Bring an object of S3 to this machine; any number of processes may do so at once.

    Raises:
        InputError, BundleError: as `open_bundle`.
    """
    bucket, _, key = address.removeprefix(SCHEME).partition("/")
    if not address.startswith(SCHEME) or not bucket or not key:
        raise InputError(f"{address[:200]!r} is no address; give s3://bucket/key")
    if digest is not None:
        digest = _checked(digest, SHA256_VARIABLE)
    folder = _private_folder() if folder is None else folder
    name = sha256(f"{bucket}/{key}".encode()).hexdigest()[:16]
    with Store(bucket, key) as store, (folder / f"{name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)  # one process downloads, the others wait and find what it left
        for _ in range(TRIES):
            head = store.head()
            expected = digest or _published(store, head)
            # The name tells the version and what was proven of it, so a file never changes.
            version = sha256(f"{head.etag} {head.size} {expected}".encode()).hexdigest()[:16]
            path = folder / f"{name}-{version}.zip"
            try:
                if not _is_there(path, head):
                    _download(store, head, path, expected)
            except MovedError:  # replaced meanwhile: the next round reads the new one, whole
                continue
            _forget_others(folder, name, path)
            return Source(path, expected is not None)
    raise BundleError(f"{address} was replaced {TRIES} times while it was being read; try again")


def _published(store: Store, head: Object) -> str | None:
    """Return the sha256 that whoever uploaded the object published with it, None where none is."""
    if head.digest is not None:
        return _checked(head.digest, f"the metadata sha256 of {store.address}")
    text = store.sibling(".sha256")
    return None if text is None else _checked((text.split() or [""])[0], f"{store.address}.sha256")


def _is_there(path: Path, head: Object) -> bool:
    """Return whether an earlier download can be used."""
    try:
        found = path.stat()
        if found.st_size != head.size:  # somebody cut it: download it again
            return False
        # In use, see KEPT_SECONDS. The time of its last change stays: `load` tells files by it.
        os.utime(path, ns=(time.time_ns(), found.st_mtime_ns))
    except FileNotFoundError:
        return False
    return True


def _download(store: Store, head: Object, path: Path, expected: str | None) -> None:
    free = disk_usage(path.parent).free
    if head.size > free:
        raise BundleError(
            f"{store.address} has {head.size:,} bytes and {str(path.parent)!r} has room for "
            f"{free:,}; give the function more ephemeral storage"
        )
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            store.download(head, file.fileno())
        if expected is not None and (found := _digest(part)) != expected:
            raise BundleError(
                f"{store.address} has the sha256 {found}, and {expected} was published: it is "
                "damaged, or not what was meant to be served; the download was removed"
            )
        part.rename(path)  # all at once: no other process ever sees half a bundle
    except OSError as error:
        raise BundleError(f"{store.address} cannot be written to {str(part)!r}: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def _forget_others(folder: Path, name: str, kept: Path) -> None:
    """Remove older versions and what crashed processes left; what is mapped stays mapped."""
    for each in folder.glob(f"{name}-*"):
        with suppress(OSError):
            if each != kept and time.time() - each.stat().st_atime > KEPT_SECONDS:
                each.unlink()


def _private_folder() -> Path:
    """Return a folder that only this user can write: in /tmp anybody could leave a bundle."""
    folder = Path(tempfile.gettempdir()) / f"ranklet-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise BundleError(f"{str(folder)!r} is not a folder that only this user can write; move it")
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _checked(digest: str, source: str) -> str:
    lowered = digest.lower()
    if len(lowered) != 64 or set(lowered) - set("0123456789abcdef"):
        raise InputError(f"{source} is {digest[:80]!r}; a sha256 has 64 hexadecimal digits")
    return lowered
