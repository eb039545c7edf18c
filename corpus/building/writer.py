"""Write a bundle into a folder next to the target, read it back and rename it: all or nothing."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.errors import REPLACE, BuildError
from ranklet.corpus.indexing.compressing import compressed, make_dictionary
from ranklet.corpus.indexing.packer import release
from ranklet.runtime.bundles.files import DICTIONARY, BundleFiles, locate_additions, stamp_additions
from ranklet.runtime.bundles.manifest import MANIFEST, FileEntry, Manifest, check_path
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical.impact_index import DOCUMENTS, IMPACTS, LARGEST, OFFSETS, ImpactIndex
from ranklet.runtime.storage.address import BundleLike, on_disk, writable
from ranklet.runtime.storage.arrays import id_type
from ranklet.runtime.storage.strings import CompressedStrings, Strings
from ranklet.runtime.writing.full_disk import full_disk_told
from ranklet.runtime.writing.leftovers import Claim, clean_up, remove
from ranklet.runtime.writing.locks import locked
from ranklet.runtime.writing.private_folder import check_private
from ranklet.runtime.writing.replacing import replace_target
from ranklet.runtime.writing.strangers import files_in, matching, refuse_strangers, remove_own
from ranklet.version import __version__

ALIGNMENT = 64  # bytes; files begin at multiples of it inside a zip, so mapped arrays are aligned
INDEX_FILES = (OFFSETS, DOCUMENTS, IMPACTS, LARGEST)
_KEPT = matching("*.npz", "*.zip", "*.partial")  # what an interrupted export leaves
_CHANGED = (
    "{!r} was changed by another program meanwhile; nothing was written, so run the same again"
)
_CHUNK = 1 << 20  # bytes that are copied at a time
_WRITTEN = 16 << 20  # bytes of an array that are written at a time


class ChangedError(BuildError):
    """What a bundle would replace has changed while it was made."""


class BundleWriter:
    """Writes a bundle. Use it as a context manager; nothing is written if it is left early.

    It holds the lock of the target, so that another writer of it waits. Whoever reads what it will
    replace reads it after this writer was made, and then no change of another one is lost. What
    killed writers left next to the target is removed first.

    Args:
        target: the folder, or a path that ends in .zip. A link stays, and what it leads to is
            written.
        overwrite: whether an existing bundle is replaced, in one step at the end.
        late: take the lock only before this step, which fails if anybody has written until then.

    Attributes:
        around: what is done around this step, when nothing else can fail but the step itself.

    Raises:
        InputError: the target is an address.
        BuildError: the target exists, or is not a bundle and nothing else.
        BundleError: the disk is full, then or when the context ends.
    """

    def __init__(self, target: BundleLike, *, overwrite: bool = False, late: bool = False) -> None:
        path = self._path = writable(target)
        self.target, self._overwrite, self._late = Path(target), overwrite, late
        self.around: Callable[[], AbstractContextManager[None]] = nullcontext
        self._files: dict[str, FileEntry] = {}  # those whose digest is known
        check_target(path, overwrite)
        with ExitStack() as held:
            try:
                with full_disk_told(self.target):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    if not late:
                        held.enter_context(locked(path))
                    self._alone = not late
                    clean_up(path)
                    check_target(path, overwrite)
                    self._state = self._seen()
                    self._claim = Claim(path)
                    held.callback(self._claim.release)
                    self._folder = self._claim.partial
                    self._folder.mkdir()
            except OSError as error:
                raise BuildError(f"{str(target)!r} cannot be written: {error}") from error
            self._early: tuple[Strings, Future[CompressedStrings]] | None = None
            self._left = Event()
            self._beside = held.enter_context(ThreadPoolExecutor(1))
            held.callback(self._left.set)
            self._held = held.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        changed = self._late and isinstance(error, Exception) and self._seen() != self._state
        self._held.close()
        if changed:  # so what was read may have been half of one and half of the other
            raise ChangedError(_CHANGED.format(str(self.target))) from error
        if isinstance(error, OSError):
            with full_disk_told(self.target):
                raise error

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Write an array as ``NAME``, which ends in .npy, version 1.0, C order.

        The pages of a mapped array are dropped as they are written.
        """
        if values.dtype.hasobject:
            raise ValueError(f"{name} has objects, which need allow_pickle; give numbers")
        values = np.ascontiguousarray(values)
        with self._new(name).open("wb") as file:
            header = np.lib.format.header_data_from_array_1_0(values)
            np.lib.format.write_array_header_1_0(file, header)
            content = values.reshape(-1).view(np.uint8)
            for begin in range(0, len(content), _WRITTEN):
                file.write(content[begin : begin + _WRITTEN].data)
                release(values)

    def strings(self, name: str, strings: Strings) -> None:
        """Write strings as ``NAME.npy`` and ``NAME.offsets.npy``."""
        self.array(f"{name}.npy", strings.data)
        self._offsets(f"{name}.offsets.npy", strings.offsets)

    def compress_early(self, strings: Strings, keys: Strings) -> None:
        """Begin to compress what `compressed` will write, while the caller goes on."""
        run = copy_context().run  # in which the same processes are found
        self._early = strings, self._beside.submit(run, self._compressed, strings, keys)

    def _compressed(self, strings: Strings, keys: Strings) -> CompressedStrings:
        return compressed(strings, make_dictionary(keys, strings), lambda: not self._left.is_set())

    def compressed(self, name: str, strings: Strings, keys: Strings) -> None:
        """Write strings as `CompressedStrings` reads them.

        Args:
            name: as in `strings`.
            strings: the texts of documents.
            keys: their ids.
        """
        if self._early and self._early[0] is strings:
            stored = self._early[1].result()
        else:
            stored = self._compressed(strings, keys)
        self.strings(name, stored)
        self.array(name + DICTIONARY, np.frombuffer(stored.dictionary, np.uint8))

    def _offsets(self, name: str, offsets: NDArray[Any]) -> None:
        """Write offsets in 32 bits, if they fit."""
        self.array(name, offsets if offsets[-1] >> 32 else offsets.astype(np.uint32))

    def data(self, name: str, content: bytes | memoryview) -> None:
        """Write any other file."""
        self._new(name).write_bytes(content)

    def index(self, folder: str, index: ImpactIndex) -> None:
        """Write `INDEX_FILES` of an impact index; the folder's name ends with a slash."""
        self._offsets(folder + OFFSETS, index.offsets)
        self.array(folder + DOCUMENTS, index.documents.astype(id_type(index.size), copy=False))
        self.array(folder + IMPACTS, index.impacts)
        self.array(folder + LARGEST, index.largest)

    def copy(self, source: BundleFiles, prefix: str = "", leave_out: tuple[str, ...] = ()) -> None:
        """Copy the files of another bundle in a folder, which ends with a slash unless empty.

        Paths below the folder that are in `leave_out` are not copied.
        """
        for name in source.manifest.files:
            if name.startswith(prefix) and name.removeprefix(prefix) not in leave_out:
                self.data(name, source.file(name))

    @property
    def resume_folder(self) -> Path:
        """Folder of what an interrupted export need not do again; it is removed at the end.

        Raises:
            BundleError: it is another user's, whose vectors would be written.
        """
        folder = self._path.with_name(f".{self._path.name}.resume")
        check_private(folder, "remove it")
        return folder

    def resume(self, name: str) -> Path | None:
        """Return the folder of what indexing a ranker need not do again; None for none."""
        return None if self._late else self.resume_folder / name

    def written(self, manifest: Manifest) -> BundleFiles:
        """Write the manifest, and return what was written so far as a reader would open it.

        Args:
            manifest: the manifest to write, with this bundle's own files, date and version of
                ranklet.
        """
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            if path.is_file() and name != MANIFEST and name not in self._files:
                self._files[name] = FileEntry(path.stat().st_size, sha256(path))
        complete = stamp(manifest, self._files)
        (self._folder / MANIFEST).write_text(complete.to_json(), "utf-8")
        return BundleFiles(self._folder)

    def finish(self, manifest: Manifest) -> Path:
        """Write the manifest, check the whole bundle as a reader would, and rename it.

        Args:
            manifest: see `written`.
        """
        self.written(manifest)
        if self._path.suffix == ".zip":
            packed = self._folder.with_name(self._folder.name + ".zip")
            try:
                write_zip(self._folder, packed)
                self._replace(packed)
            finally:
                remove(packed)
        else:
            self._replace(self._folder)
        with suppress(BundleError):
            remove_own(self.resume_folder, _KEPT)
        return self.target

    def _replace(self, new: Path) -> None:
        """Put a file or folder in the place of the target, unless that has changed meanwhile."""
        self.keep_out()
        if self._seen() != self._state:  # if not late, by a program that knows nothing of our lock
            raise ChangedError(_CHANGED.format(str(self.target)))
        check_target(self._path, self._overwrite)
        with self.around():
            replace_target(new, self._path, self._claim.old)

    def keep_out(self) -> None:
        """Let no other writer come from now on, if that is not so already."""
        if not self._alone:
            self._held.enter_context(locked(self._path))
            self._alone = True

    def _seen(self) -> tuple[int, ...]:
        """Return what changes when the target is replaced, or written to if nobody is kept out."""
        beside = stamp_additions(locate_additions(self._path)) if self._late else ()
        return (*_state(self._path), *beside)

    def _new(self, name: str) -> Path:
        path = self._folder / check_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def check_source(source: BundleLike, target: BundleLike) -> bool:
    """Return whether a bundle will be replaced by one that is made of it.

    Raises:
        InputError: one of the two is an address.
        BundleError: there is no bundle. No folder was made for the target then.
    """
    own, place = writable(on_disk(source)), writable(target)
    clean_up(own)  # a killed writer may have moved it aside
    if place != own or not own.parent.is_dir():  # otherwise another writer may be replacing it now
        BundleFiles(source)
    return place == own


def stamp(manifest: Manifest, files: Mapping[str, FileEntry]) -> Manifest:
    """Return a manifest with a bundle's own files, the date and this version of ranklet."""
    return replace(
        manifest,
        ranklet_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        files=dict(files),
    )


def sha256(path: Path) -> str:
    """Return the sha256 of a file's content, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_zip(folder: Path, target: Path) -> None:
    """Pack a folder into an uncompressed zip whose files begin at multiples of `ALIGNMENT`."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            with path.open("rb") as source:
                name = path.relative_to(folder).as_posix()
                write_aligned(archive, name, path.stat().st_size, source)


def write_aligned(archive: zipfile.ZipFile, name: str, size: int, source: IO[bytes]) -> None:
    """Write a file of so many bytes into a zip, where it begins at a multiple of `ALIGNMENT`."""
    # Every entry has the date 1980, zipfile's default, so that the same files make the same zip.
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o644 << 16
    entry.file_size = size
    head = 30 + len(entry.filename.encode())  # local header; zip64 adds 20 for huge files
    head += 20 if entry.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
    gap = -(archive.start_dir + head) % ALIGNMENT
    # An extra field has a header of 4 bytes, an id that readers skip and a length.
    gap += ALIGNMENT if 0 < gap < 4 else 0
    if gap:
        entry.extra = b"\x35\xd9" + (gap - 4).to_bytes(2, "little") + bytes(gap - 4)
    with archive.open(entry, "w") as out:
        shutil.copyfileobj(source, out, _CHUNK)


def check_target(target: Path, overwrite: bool) -> None:
    """Raise an error unless a bundle may be written there; long work begins with this.

    Raises:
        BuildError: the target exists, or is not a bundle and nothing else.
    """
    if _is_free(target, overwrite) or (target.is_dir() and not any(target.iterdir())):
        return
    try:
        listed, names = _contents(target)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RecursionError) as error:
        raise BuildError(
            f"{str(target)!r} exists and is not a bundle, so it is not replaced; give another name"
        ) from error
    refuse_strangers(target, names, {MANIFEST, *listed}.__contains__, "bundle", BuildError)


def check_listed(target: Path, listing: str, *, overwrite: bool) -> None:
    """Raise BuildError unless a folder can be written: it is free, or an earlier one of its kind.

    Args:
        target: the folder.
        listing: the file in it with JSON whose ``files`` are the others.
        overwrite: whether to replace an earlier one.
    """
    if _is_free(target, overwrite):
        return
    try:
        own = {listing, *json.loads((target / listing).read_bytes())["files"]}
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise BuildError(
            f"{str(target)!r} exists and is no export for others, because it has no {listing} with "
            "a list of its files; choose another name, or remove it"
        ) from error
    refuse_strangers(target, files_in(target), own.__contains__, "export for others", BuildError)


def _is_free(target: Path, overwrite: bool) -> bool:
    """Return whether nothing is there; raise BuildError if something is, and has to stay."""
    if target.exists() and not overwrite:
        raise BuildError(f"{str(target)!r} exists; choose another name, or {REPLACE}")
    return not target.exists()


def _contents(target: Path) -> tuple[set[str], list[str]]:
    """Return the files that a bundle's manifest lists, and those that are there.

    The bundle may be damaged or of any version.

    Raises:
        OSError, ValueError: there is no bundle.
    """
    if target.is_dir():
        text, names = (target / MANIFEST).read_bytes(), files_in(target)
    else:
        with zipfile.ZipFile(target) as archive:
            names = archive.namelist() if MANIFEST in archive.namelist() else []
            text = archive.read(MANIFEST) if names else b""
    held = json.loads(text)
    if not isinstance(held, dict) or not isinstance(held.get("files"), dict):
        raise ValueError("no list of files")
    if not {"format_version", "rankers", "pipelines"} <= held.keys():
        raise ValueError("a manifest of something else")
    return set(held["files"]), names


def _state(target: Path) -> tuple[int, ...]:
    """Return what changes when a bundle is replaced; empty if there is none."""
    for each in (target / MANIFEST, target):
        with suppress(OSError):
            status = each.stat()
            return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
    return ()
