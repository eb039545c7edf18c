"""The folder ``OUTPUT.run`` that keeps an interrupted training or scoring until it is done."""

import hashlib
import json
from pathlib import Path

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.storage.address import writable
from ranklet.runtime.writing.private_folder import check_private
from ranklet.runtime.writing.strangers import files_in, matching, remove_own, strangers

STATE = "state.pt"  # of a network that learns

_OWN = matching(STATE, "teacher.npz", "mined.*.npy", "oracle.*.f16", "oracle.*.json", ".*.partial")


def state_folder(output: Path) -> Path:
    """Return where the state of what will be written to `output` is kept, before any work.

    Raises:
        InputError: the output is an address, or the folder holds files of somebody else.
        BundleError: the folder is another user's.
    """
    writable(output)
    folder = output.with_name(f"{output.name}.run")
    check_private(folder, "choose another output")
    if folder.is_dir() and (others := strangers(files_in(folder), _OWN)):
        raise InputError(
            f"{str(folder)!r} is where the state is kept, and holds other files: {others}; move "
            "them away, or choose another output"
        )
    return folder


def has_state(folder: Path) -> bool:
    """Return whether a training goes on from a folder, and not only what comes before its steps.

    Raises:
        InputError: the folder has nothing.
    """
    if (folder / STATE).is_file():
        return True
    if not folder.is_dir() or not any(folder.iterdir()):
        raise InputError(
            f"nothing to resume: there is no {str(folder / STATE)!r}; train without --resume"
        )
    return False


def compute_digest(collection: Collection, *queries: JudgedQueries) -> str:
    """Return a text that changes whenever the judged queries or the documents do."""
    found = hashlib.sha256(json.dumps(queries).encode())
    for document in collection.documents():
        found.update(repr(document[:3]).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def remove_state(folder: Path) -> None:
    """Remove the state when all is done; a folder with files of somebody else stays."""
    remove_own(folder, _OWN)
