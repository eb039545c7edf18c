"""Writing a bundle: into a folder beside the target, read back, then renamed; all or nothing."""

import hashlib
import secrets
import shutil
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import ranklet
from ranklet.export.errors import ExportError
from ranklet.runtime.pipeline.stages import Pipeline
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import MANIFEST, FileEntry, Manifest, RankerEntry, check_path
from ranklet.runtime.text.strings import Strings

ALIGNMENT = 64  # bytes; where an array begins inside a zip, so that mapped arrays are aligned
_CHUNK = 1 << 20  # bytes read at a time for a digest


class BundleWriter:
    """The only way a bundle comes to be. Use as a context manager; leaving it early writes nothing.

    Args:
        target: the folder, or a path that ends in .zip.
        overwrite: whether an existing bundle there is replaced, in one step, at the end.

    Raises:
        ExportError: the target exists, or is something other than a bundle.
    """

    def __init__(self, target: str | Path, *, overwrite: bool = False) -> None:
        self.target = Path(target)
        path = self._path = self.target.absolute()  # "." has no name to put a folder beside
        _check_target(path, overwrite)
        self._folder = path.with_name(f".{path.name}.partial-{secrets.token_hex(4)}")
        try:
            self._folder.mkdir(parents=True)
        except OSError as error:
            raise ExportError(f"{str(target)!r} cannot be written: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Write an array as ``NAME``, which ends in .npy, version 1.0, C order."""
        with self._new(name).open("wb") as file:
            np.lib.format.write_array(
                file, np.ascontiguousarray(values), version=(1, 0), allow_pickle=False
            )

    def strings(self, name: str, strings: Strings) -> None:
        """Write strings as ``NAME.npy`` and ``NAME.offsets.npy``."""
        self.array(f"{name}.npy", strings.data)
        self.array(f"{name}.offsets.npy", strings.offsets)

    def data(self, name: str, content: bytes | memoryview) -> None:
        """Write a file of another kind."""
        self._new(name).write_bytes(content)

    def copy(self, source: BundleFiles, prefix: str = "", leave_out: tuple[str, ...] = ()) -> None:
        """Take over the files of another bundle whose paths begin with `prefix`.

        Args:
            source: the other bundle.
            prefix: of the paths.
            leave_out: what may not follow the prefix.
        """
        for name in source.manifest.files:
            if name.startswith(prefix) and name.removeprefix(prefix) not in leave_out:
                self.data(name, source.file(name))

    @property
    def resume_folder(self) -> Path:
        """Where a long export keeps what a later run need not do again; gone at the end."""
        return self._path.with_name(f".{self._path.name}.resume")

    def finish(
        self,
        *,
        documents: int,
        fields: tuple[str, ...],
        rankers: Mapping[str, RankerEntry],
        pipelines: Mapping[str, Pipeline],
        default_pipeline: str,
        provenance: Mapping[str, Any],
        titles: bool = True,
    ) -> Path:
        """Write the manifest, check the whole bundle as a reader would, and put it in its place."""
        files = {
            path.relative_to(self._folder).as_posix(): FileEntry(path.stat().st_size, sha256(path))
            for path in sorted(self._folder.rglob("*"))
            if path.is_file()
        }
        manifest = Manifest(
            ranklet_version=ranklet.__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            documents=documents,
            fields=fields,
            rankers=rankers,
            pipelines=pipelines,
            default_pipeline=default_pipeline,
            files=files,
            provenance=provenance,
            titles=titles,
        )
        (self._folder / MANIFEST).write_text(manifest.to_json(), "utf-8")
        BundleFiles(self._folder)  # what cannot be read back is not written
        if self.target.suffix == ".zip":
            packed = self._folder.with_name(self._folder.name + ".zip")
            try:
                write_zip(self._folder, packed)
                _replace(packed, self._path)
            finally:
                packed.unlink(missing_ok=True)
        else:
            _replace(self._folder, self._path)
        shutil.rmtree(self.resume_folder, ignore_errors=True)
        return self.target

    def _new(self, name: str) -> Path:
        path = self._folder / check_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def sha256(path: Path) -> str:
    """Return the sha256 of a file's content, 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def write_zip(folder: Path, target: Path) -> None:
    """Pack a folder into an uncompressed zip whose files begin at multiples of `ALIGNMENT`."""
    # Every entry is dated 1980, zipfile's default: the same files make the same zip.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            entry.external_attr = 0o644 << 16
            entry.file_size = path.stat().st_size
            head = 30 + len(entry.filename.encode())  # local header; zip64 adds 20 for huge files
            head += 20 if entry.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
            gap = -(archive.start_dir + head) % ALIGNMENT
            # An extra field is 4 bytes of header (an id that readers skip, a length) and its data.
            gap += ALIGNMENT if 0 < gap < 4 else 0
            if gap:
                entry.extra = b"\x35\xd9" + (gap - 4).to_bytes(2, "little") + bytes(gap - 4)
            with path.open("rb") as source, archive.open(entry, "w") as out:
                shutil.copyfileobj(source, out, _CHUNK)


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not overwrite:
        raise ExportError(f"{str(target)!r} exists; choose another path, or overwrite it (--force)")
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise ExportError(f"{str(target)!r} is a folder and no bundle; it is left alone")
    if not target.is_dir() and not _is_zipped_bundle(target):
        raise ExportError(f"{str(target)!r} is a file and no bundle; it is left alone")


def _is_zipped_bundle(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _replace(new: Path, target: Path) -> None:
    """Put a bundle in the place of another; a reader sees the old one, or none, or the new one.

    A zip takes the place of a zip in one step, so that a reader never sees none.
    """
    old = None
    if target.exists() and not (new.is_file() and target.is_file()):
        old = target.with_name(f".{target.name}.old-{secrets.token_hex(4)}")
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if old is not None:
            old.rename(target)
        raise
    if old is not None and old.is_dir() and not old.is_symlink():
        shutil.rmtree(old, ignore_errors=True)
    elif old is not None:
        old.unlink()
