"""Collect the files of an addition in memory, and pack them into one zip."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.writer import BundleWriter, stamp, write_aligned
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import MANIFEST, FileEntry, Manifest, check_path
from ranklet.runtime.storage.strings import Strings


class AdditionWriter(BundleWriter):
    """Writes an addition, which has no models and whose texts are not compressed."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Write an array as ``NAME``, which ends in .npy, version 1.0, C order."""
        file = io.BytesIO()
        values = np.ascontiguousarray(values)
        np.lib.format.write_array(file, values, version=(1, 0), allow_pickle=False)
        self.data(name, file.getvalue())

    def compressed(self, name: str, strings: Strings, keys: Strings) -> None:  # noqa: ARG002
        """Write strings as they are, because they will be compressed with those of the base."""
        self.strings(name, strings)

    def data(self, name: str, content: bytes | memoryview) -> None:
        """Write any other file."""
        self._contents[check_path(name)] = bytes(content)

    def copy(self, source: BundleFiles, prefix: str = "", leave_out: tuple[str, ...] = ()) -> None:
        """Copy nothing, because an addition takes models from its base."""

    def resume(self, name: str) -> Path | None:  # noqa: ARG002
        """Return no folder, because an addition is too small to be resumed."""
        return None

    def packed(self, manifest: Manifest) -> tuple[bytes, str]:
        """Return the zip, and the sha256 of its manifest."""
        entries = {
            name: FileEntry(len(content), hashlib.sha256(content).hexdigest())
            for name, content in self._contents.items()
        }
        text = stamp(manifest, entries).to_json()
        file = io.BytesIO()
        contents: Mapping[str, bytes] = {MANIFEST: text.encode(), **self._contents}
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, content in sorted(contents.items()):
                write_aligned(archive, name, len(content), io.BytesIO(content))
        return file.getvalue(), Manifest.from_json(text).sha256
