"""Keep exports of models between builds, because a proof on ranklet's own texts is always alike.

An export is a bundle of one ranker, a zip file in the user's folder for caches. Its name begins
with a digest of all that it depends on, and ends with the digest of its bytes, so that a damaged
one is made anew.
"""

import hashlib
import json
import logging
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ranklet.corpus.building.writer import sha256
from ranklet.export.options import ExportOptions
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.object_storage.cache_folder import EXPORT, cache_folder, limit, make_room
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.training.imported.folder import model_name

PART = "models"
# What a model is read from; see `ranklet.training.imported.hub.PATTERNS`.
_READ = (".json", ".txt", ".model", ".safetensors")
_CODE = ("runtime", "corpus", "training", "export")
_PACKAGES = (
    "numpy", "onnx", "onnxruntime", "openvino", "sentence-transformers", "tokenizers", "torch",
    "transformers",
)  # fmt: skip

_log = logging.getLogger(__name__)


def key_of(folder: Path, choices: Mapping[str, Any], options: ExportOptions) -> str:
    """Return a digest of all that an export depends on.

    It is the model's files, what is chosen of it, ranklet's code, the packages and the processor.

    Args:
        folder: the model's folder.
        choices: what was chosen of the model; see `read_model`.
        options: how it is exported.
    """
    own = dict(_digests(folder, _READ))
    parts = (model_name(folder), own, dict(choices), asdict(options), _code(), _processor())
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def find(key: str) -> Path | None:
    """Return the export of an earlier build; None if there is none that is whole."""
    for path in _kept(key):
        with suppress(OSError):
            if sha256(path) == path.stem.rpartition("-")[2]:
                os.utime(path)  # so that those are removed first that nobody uses
                return path
            path.unlink()
    return None


def keep(key: str, path: Path) -> None:
    """Keep a copy of an export, and remove others that were used longest ago if there are many.

    Where nothing can be kept, a warning says so.
    """
    try:
        folder = cache_folder(part=PART)
        with atomic_file(folder / f"{key}-{sha256(path)}{EXPORT}") as file, path.open("rb") as own:
            shutil.copyfileobj(own, file)
        make_room(folder, limit(folder))
    except (OSError, RankletError) as error:
        _log.warning("the export is not kept, so the next build takes as long (%s)", error)


def _kept(key: str) -> list[Path]:
    try:
        return sorted(cache_folder(part=PART).glob(f"{key}-*{EXPORT}"))
    except (OSError, RankletError):  # `keep` says why
        return []


def _digests(folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the names of a folder's files and digests of their content, in order."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.is_file():
            yield path.relative_to(folder).as_posix(), sha256(path)


@cache
def _code() -> str:
    """Return a digest of ranklet's own code and of the versions of packages."""
    found = hashlib.sha256()
    for name in _CODE:
        (place,) = import_module(f"ranklet.{name}").__path__
        for each in _digests(Path(place), (".py", ".txt")):
            found.update(repr(each).encode())
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found.update(f"{name} {version(name)}".encode())
    return found.hexdigest()


def _processor() -> str:
    """Return what kind of processor this is, whose instructions decide on the last digits."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        kinds = ("model name", "flags", "CPU part", "Features")
        return "\n".join(sorted({line for line in lines if line.startswith(kinds)}))
    return f"{platform.machine()} {platform.processor()}"
