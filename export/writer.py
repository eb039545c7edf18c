"""Write a bundle into a folder next to the target, read it back and rename it: all or nothing."""

import hashlib
import shutil
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.leftovers import Claim, clean_up, remove
from ranklet.export.replacing import replace_target
from ranklet.runtime.lexical.impact_index import (
    DOCUMENTS,
    IMPACTS,
    LARGEST,
    OFFSETS,
    SCALE,
    ImpactIndex,
)
from ranklet.runtime.pipeline.stages import Pipeline
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import (
    MANIFEST,
    FileEntry,
    Manifest,
    RankerEntry,
    Splitting,
    check_path,
)
from ranklet.runtime.text.analysis import ENGLISH
from ranklet.runtime.text.strings import Strings
from ranklet.training.indexing.packer import release
from ranklet.version import __version__

ALIGNMENT = 64  # bytes; files begin at multiples of it inside a zip, so mapped arrays are aligned
INDEX_FILES = (OFFSETS, DOCUMENTS, IMPACTS, LARGEST, SCALE)
_CHUNK = 1 << 20  # bytes that are read at a time for a digest
_WRITTEN = 16 << 20  # bytes of an array that are written at a time


class BundleWriter:
    """Writes a bundle. Use it as a context manager; nothing is written if it is left early.

    What killed writers left next to the target is removed first.

    Args:
        target: the folder, or a path that ends in .zip.
        overwrite: whether an existing bundle is replaced, in one step at the end.

    Raises:
        ExportError: the target exists, or is not a bundle.
    """

    def __init__(self, target: str | Path, *, overwrite: bool = False) -> None:
        self.target = Path(target)
        path = self._path = self.target.absolute()  # "." has no name
        clean_up(path)
        _check_target(path, overwrite)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._claim = Claim(path)
            self._folder = self._claim.partial
            self._folder.mkdir()
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
        self._claim.release()

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
        self.array(f"{name}.offsets.npy", strings.offsets)

    def data(self, name: str, content: bytes | memoryview) -> None:
        """Write any other file."""
        self._new(name).write_bytes(content)

    def index(self, folder: str, index: ImpactIndex) -> None:
        """Write `INDEX_FILES` of an impact index; the folder's name ends with a slash."""
        self.array(folder + OFFSETS, index.offsets)
        self.array(folder + DOCUMENTS, index.documents)
        self.array(folder + IMPACTS, index.impacts)
        self.array(folder + LARGEST, index.largest)
        if index.impacts.dtype == np.uint8:
            self.array(folder + SCALE, np.array([index.scale], np.float32))

    def copy(self, source: BundleFiles, prefix: str = "", leave_out: tuple[str, ...] = ()) -> None:
        """Copy the files of another bundle in a folder, which ends with a slash unless empty.

        Paths below the folder that are in `leave_out` are not copied.
        """
        for name in source.manifest.files:
            if name.startswith(prefix) and name.removeprefix(prefix) not in leave_out:
                self.data(name, source.file(name))

    @property
    def resume_folder(self) -> Path:
        """Folder of what an interrupted export need not do again; it is removed at the end."""
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
        metadata: Mapping[str, str] | None = None,
        languages: tuple[str, ...] = ENGLISH,
        normaliser: str = "lemma",
        splitting: Splitting | None = None,
    ) -> Path:
        """Write the manifest, check the whole bundle as a reader would, and rename it."""
        files = {
            path.relative_to(self._folder).as_posix(): FileEntry(path.stat().st_size, sha256(path))
            for path in sorted(self._folder.rglob("*"))
            if path.is_file()
        }
        manifest = Manifest(
            ranklet_version=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            documents=documents,
            fields=fields,
            rankers=rankers,
            pipelines=pipelines,
            default_pipeline=default_pipeline,
            files=files,
            provenance=provenance,
            titles=titles,
            metadata=metadata or {},
            languages=languages,
            normaliser=normaliser,
            splitting=splitting,
        )
        (self._folder / MANIFEST).write_text(manifest.to_json(), "utf-8")
        BundleFiles(self._folder)  # raises if the bundle cannot be read back
        if self.target.suffix == ".zip":
            packed = self._folder.with_name(self._folder.name + ".zip")
            try:
                write_zip(self._folder, packed)
                replace_target(packed, self._path, self._claim.old)
            finally:
                remove(packed)
        else:
            replace_target(self._folder, self._path, self._claim.old)
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
    # Every entry has the date 1980, zipfile's default, so that the same files make the same zip.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            entry.external_attr = 0o644 << 16
            entry.file_size = path.stat().st_size
            head = 30 + len(entry.filename.encode())  # local header; zip64 adds 20 for huge files
            head += 20 if entry.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
            gap = -(archive.start_dir + head) % ALIGNMENT
            # An extra field has a header of 4 bytes, an id that readers skip and a length.
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
    other_folder = target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file()
    if other_folder or not (target.is_dir() or _is_zipped_bundle(target)):
        raise ExportError(f"{str(target)!r} exists and is not a bundle; choose another path")


def _is_zipped_bundle(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False
