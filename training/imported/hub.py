"""Models of the Hugging Face hub, from its cache on this machine or fetched by its own client."""

import os
import re
from importlib.util import find_spec
from pathlib import Path

from ranklet.runtime.errors import InputError
from ranklet.runtime.extras import hinted
from ranklet.training.imported.folder import INCOMPLETE

# What a model consists of; code and weights that only pickle can read are not fetched.
PATTERNS = ["*.json", "*.txt", "*.model", "*.safetensors", "*.md"]
OWNERS = ("", "sentence-transformers/")  # that a name may leave out, as that library allows

_NAME = re.compile(r"([\w.-]+(?:/[\w.-]+)?)(?:@(\w[\w.-]*))?", re.ASCII)  # and its revision


def model_folder(source: str | Path, *, download: bool = False) -> Path:
    """Return the folder of a model.

    Args:
        source: a folder, or the model's name on the hub, ``NAME`` or ``NAME@REVISION`` for a
            branch, a tag or a commit, which alone never changes.
        download: whether what this machine lacks is fetched.

    Raises:
        InputError: it is neither a folder nor in the cache, or cannot be fetched.
        MissingPackageError: the hub's client is not installed.
    """
    folder, match = Path(source), _NAME.fullmatch(str(source))
    if folder.exists() or not match or match[0].startswith("."):
        return folder  # what is wrong with it is said by its reader
    name, revision = match[1], match[2] or "main"
    cached = cached_model(name, revision)
    if cached is not None and (_is_whole(cached) or not download):
        return cached
    if not download:
        raise InputError(
            f"there is no folder {match[0]!r}, and the cache of the Hugging Face hub has no such "
            "model; give a folder, or fetch it with --download"
        )
    with hinted():
        if find_spec("huggingface_hub") is None:
            raise ModuleNotFoundError(name="transformers")  # which brings it
        from huggingface_hub import snapshot_download
    why = ""
    for each in _full_names(name):
        try:
            return Path(snapshot_download(each, revision=revision, allow_patterns=PATTERNS))
        except (OSError, ValueError) as error:  # base classes of the hub's own errors
            why = why or (str(error).splitlines() or [""])[0]
    if offline := os.environ.get("HF_HUB_OFFLINE"):
        why = f"HF_HUB_OFFLINE is {offline}"
    raise InputError(
        f"{match[0]!r} cannot be fetched from the Hugging Face hub ({why}); give a folder"
    )


def _is_whole(snapshot: Path) -> bool:
    """Return whether a folder of the cache has weights, and none that was still being fetched."""
    begun = (snapshot.parent.parent / "blobs").glob(INCOMPLETE)
    return any(snapshot.rglob("*.safetensors")) and not any(begun)


def cached_model(name: str, revision: str = "main") -> Path | None:
    """Return the folder of a model in the hub's cache on this machine; None if it is not there.

    Instead of ``main``, the only revision that is there will do.
    """
    for each in _full_names(name):
        model = _cache() / f"models--{each.replace('/', '--')}"
        named, snapshots = model / "refs" / revision, model / "snapshots"
        revisions = [revision]
        if named.is_file():
            revisions = [named.read_text("utf-8").strip()]
        elif revision == "main" and snapshots.is_dir():
            revisions = [each.name for each in snapshots.iterdir()]
        if len(revisions) == 1 and (snapshots / revisions[0]).is_dir():
            return snapshots / revisions[0]
    return None


def _full_names(name: str) -> list[str]:
    return [name] if "/" in name else [owner + name for owner in OWNERS]


def _cache() -> Path:
    """Return the folder of the hub's cache, which its environment variables name."""
    if own := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(own).expanduser()
    home = os.environ.get("HF_HOME")
    if not home:
        home = str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(home).expanduser() / "hub"
