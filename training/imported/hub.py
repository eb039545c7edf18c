"""Models of the Hugging Face hub, from its cache on this machine or fetched by its own client."""

import os
import re
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import hint_packages
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
    with hint_packages():
        if find_spec("huggingface_hub") is None:
            raise ModuleNotFoundError(name="transformers")  # which brings it
        from huggingface_hub import snapshot_download
    why = ""
    names = [name] if "/" in name else [owner + name for owner in OWNERS]
    for local, each in product((True, False) if download else (True,), names):
        try:
            found = snapshot_download(
                each, revision=revision, allow_patterns=PATTERNS, local_files_only=local
            )
        except (OSError, ValueError) as error:  # base classes of the hub's own errors
            why = (str(error).splitlines() or [""])[0]
            continue
        if not (local and download) or _is_whole(Path(found)):
            return Path(found)
    if not download:
        raise InputError(
            f"there is no folder {match[0]!r}, and the cache of the Hugging Face hub has no such "
            "model; give a folder, or fetch it with --download"
        )
    if offline := os.environ.get("HF_HUB_OFFLINE"):
        why = f"HF_HUB_OFFLINE is {offline}"
    raise InputError(
        f"{match[0]!r} cannot be fetched from the Hugging Face hub ({why}); give a folder"
    )


def _is_whole(snapshot: Path) -> bool:
    """Return whether a folder of the cache has weights, and none that was still being fetched."""
    begun = (snapshot.parent.parent / "blobs").glob(INCOMPLETE)
    return any(snapshot.rglob("*.safetensors")) and not any(begun)
