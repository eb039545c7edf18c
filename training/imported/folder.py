"""Read the files of a model's folder, without ever opening a pickle file."""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.files import POINTER
from ranklet.runtime.bundles.manifest import MANIFEST
from ranklet.runtime.ground.errors import ModelFolderError

# Classes of modules, and no modules that theirs import; sentence-transformers has PyLate's, too.
_CLASSES = re.compile(r"(sentence_transformers|pylate)\.(\w+\.)*[A-Z]\w*", re.ASCII)
MODULES, CONFIG, SENTENCE = "modules.json", "config.json", "config_sentence_transformers.json"
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "model.bin", "pytorch_model.bin.index.json", "weights.p")
PROOF = "ranklet_proof.json"  # of a folder that `ranklet export --layout hub` has written
ADAPTER = "adapter_config.json"  # of peft
# Files that libraries read.
_READ = (".safetensors", ".model", ".metadata")
_JSON = re.compile(
    r"(.*config|.*index|.*tokens_map|added_tokens|idf|modules|tokenizer|vocab)\.json"
)
# An activation function that is no class of torch, in whose place libraries take another one.
_CODE = re.compile(r'activation\w*"\s*:\s*"(?!torch\.)(\w[\w.]*\.\w+)"')
PAGES = (b"<!doctype html", b"<html", b"<?xml")
INCOMPLETE = "*.incomplete"  # files that the hub's client was still fetching
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
    "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip


class Module(NamedTuple):
    """One module of a sentence-transformers model, such as Pooling, and the folder of its files."""

    name: str
    folder: Path


class ModelFolder:
    """The folder of a model in the format of sentence-transformers or transformers.

    Args:
        path: the folder.

    Raises:
        ModelFolderError: there is no such folder, or no config in it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = model_name(self.path)
        if not self.path.is_dir():
            raise ModelFolderError(f"no folder {str(path)!r}; give the folder of a model")
        check_no_adapter(self.path)
        if not any((self.path / name).is_file() for name in (CONFIG, MODULES)):
            if (self.path / MANIFEST).is_file():
                raise ModelFolderError(
                    f"{str(path)!r} is a bundle, whose models are exported already; give the "
                    "folder of a model, or a checkpoint of `ranklet train`"
                )
            raise ModelFolderError(
                f"{str(path)!r} has no {CONFIG} and no {MODULES}, so it is no model; give a folder "
                "that save_pretrained of transformers or sentence-transformers has written, or a "
                "checkpoint of `ranklet train`"
            )

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """The modules of a sentence-transformers model, in order; empty for a plain model.

        Raises:
            ModelFolderError: their list is damaged, or names what is no module.
        """
        if not (self.path / MODULES).is_file():
            return ()
        modules, root = [], self.path.resolve()
        for entry in read_json(self.path / MODULES, list):
            try:
                kind, place = entry["type"], root / entry["path"]
                name = kind.rsplit(".", 1)[-1]
            except (KeyError, TypeError, AttributeError):
                raise ModelFolderError(
                    f"{self.path / MODULES}: {entry!r:.80} is no module"
                ) from None
            check_class(kind, self.path)
            if not place.resolve().is_relative_to(root):
                raise ModelFolderError(
                    f"{self.path / MODULES}: {entry['path']!r} is outside of the folder"
                )
            modules.append(Module(name, place.resolve()))
        return tuple(modules)

    @cached_property
    def sentence(self) -> Mapping[str, Any]:
        """What sentence-transformers says of the whole model: prompts, similarity, activation."""
        return self.json(SENTENCE) if (self.path / SENTENCE).is_file() else {}

    @property
    def prompts(self) -> Mapping[str, str | None]:
        """The texts that sentence-transformers puts before others, by name."""
        return self.sentence.get("prompts") or {}

    @cached_property
    def type(self) -> str:
        """The class of sentence-transformers or PyLate that has saved it, if the files say so."""
        return str(self.sentence.get("model_type") or "")

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The content of its config.json; empty if only its modules have one."""
        return self.json(CONFIG) if (self.path / CONFIG).is_file() else {}

    @cached_property
    def architecture(self) -> str:
        """The class of transformers that has saved it, if its config.json says so."""
        return str((self.config.get("architectures") or [""])[0])

    @property
    def module_names(self) -> list[str]:
        """The names of its modules."""
        return [module.name for module in self.modules]

    def json(self, name: str) -> Any:
        """Return the object in a JSON file of the folder."""
        return read_json(self.path / name)


def model_name(path: str | Path) -> str:
    """Return the name of the model in a folder.

    It is the folder's name, but a snapshot in the hub's cache is named by its commit.

    >>> model_name("hub/models--org--small/snapshots/0123456789012345678901234567890123456789")
    'small'
    >>> model_name("models/small/")
    'small'
    """
    whole = Path(path).resolve()
    cached = whole.parent.parent.name.split("--")
    if whole.parent.name == "snapshots" and cached[0] == "models" and len(cached) > 1:
        return cached[-1]
    return whole.name


def check_no_adapter(folder: Path) -> None:
    """Raise ModelFolderError if a folder has only an adapter of another model."""
    if (folder / ADAPTER).is_file():
        raise ModelFolderError(
            f"{str(folder)!r} is an adapter of another model ({ADAPTER}); merge the two by "
            "merge_and_unload of peft, and save the result"
        )


def check_class(kind: object, folder: Path) -> None:
    """Raise ModelFolderError unless a module's class is one of sentence-transformers or PyLate."""
    if not _CLASSES.fullmatch(str(kind)):
        raise ModelFolderError(
            f"{str(folder)!r} needs code of its own ({kind}), which is never run; modules of "
            "sentence-transformers are supported"
        )


def check_content(path: Path) -> None:
    """Check that a file is more than a sign that it was never fetched.

    Raises:
        ModelFolderError: it is empty, a pointer of git-lfs, a web page, or no file at all.
    """
    if not path.is_file():  # opening a pipe would wait for a writer
        raise ModelFolderError(f"{str(path)!r} is missing or no file; fetch it again")
    try:
        with path.open("rb") as file:
            begin = file.read(64)
    except OSError as error:
        raise ModelFolderError(f"{str(path)!r} cannot be read: {error}") from None
    if begin.startswith(POINTER):
        raise ModelFolderError(
            f"{str(path)!r} is a pointer of git-lfs and not the file itself; run `git lfs pull` in "
            "the folder of the model, or fetch the file again"
        )
    if not begin:
        raise ModelFolderError(f"{str(path)!r} is empty; fetch it again")
    if begin.lstrip().lower().startswith(PAGES):
        raise ModelFolderError(
            f"{str(path)!r} is a web page and not the file itself; fetch it again from the link "
            "that downloads it"
        )


def read_json(path: Path, kind: type = dict) -> Any:
    """Return the content of a JSON file.

    Args:
        path: the file.
        kind: dict for an object, list for an array, object for either.

    Raises:
        ModelFolderError: the file is missing or no JSON, or contains something else.
    """
    check_content(path)
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFolderError(f"{str(path)!r} cannot be read: {error}") from None
    if not isinstance(content, kind):
        name = "object" if kind is dict else "array"
        raise ModelFolderError(f"{str(path)!r} must contain an {name}")
    return content


def check_files(folder: Path) -> None:
    """Check the files of a folder and of all folders in it before a library opens them.

    Raises:
        ModelFolderError: one is damaged, was not fetched, or is no file; or there are no weights,
            or weights that only pickle can read.
    """
    for path in sorted(folder.rglob("*")):
        if path.name == ADAPTER:
            check_no_adapter(path.parent)
        if path.name in PICKLES and not any(path.parent.glob("*.safetensors")):
            raise ModelFolderError(
                f"{str(path.parent)!r} has its weights only in {path.name}, a pickle file, which "
                "can run any code and is never opened; save the model again with "
                "safe_serialization=True, or write it as safetensors (docs/building.md)"
            )
        if _JSON.fullmatch(path.name):
            read_json(path, object)
        elif path.suffix in _READ or not (path.is_file() or path.is_dir()):
            check_content(path)
        if path.suffix == ".safetensors":
            _stored(path)
        if path.name in (CONFIG, SENTENCE) and (own := _CODE.search(path.read_text("utf-8"))):
            raise ModelFolderError(
                f"{str(path)!r} needs code of its own ({own[1]}), which is never run; activation "
                "functions of torch.nn are supported"
            )
        if path.name == SHARDS:
            shards = read_json(path).get("weight_map")
            for name in sorted(set(shards.values())) if isinstance(shards, dict) else ():
                if not (path.parent / str(name)).is_file():
                    raise _missing(path.parent, name)
    if (folder / PROOF).is_file():
        raise ModelFolderError(
            f"{str(folder)!r} is an export of ranklet's, whose graphs others read; give the folder "
            "of the model that it was made of"
        )
    if not any(folder.rglob("*.safetensors")):
        raise _missing(folder, WEIGHTS)


class _Stored(NamedTuple):
    """An array in a .safetensors file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int  # in the file
    halved: bool  # whether it has the upper halves of numbers in 32 bits (bfloat16)


def _stored(path: Path) -> dict[str, _Stored]:
    """Return the arrays of a .safetensors file, without reading them.

    Raises:
        ModelFolderError: it is damaged, or has numbers of an unknown type.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > path.stat().st_size:
                raise ValueError("the header is longer than the file")
            described = json.loads(file.read(size))
        described.pop("__metadata__", None)
        types = {entry["dtype"] for entry in described.values()}
        if unknown := sorted(types - _DTYPES.keys()):
            raise ModelFolderError(
                f"{str(path)!r} has weights of the type {unknown[0]}, which is not supported; save "
                "the model in 16 or 32 bits"
            )
        found = {}
        for name, entry in described.items():
            begin, end = entry["data_offsets"]
            dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(map(int, entry["shape"]))
            if end - begin != prod(shape) * dtype.itemsize or not 0 <= begin <= end:
                raise ValueError(f"{name} has another size than its shape")
            if 8 + size + end > path.stat().st_size:
                raise ValueError(f"{name} is not complete")
            found[name] = _Stored(dtype, shape, 8 + size + begin, entry["dtype"] == "BF16")
    except ModelFolderError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFolderError(
            f"{str(path)!r} is damaged or truncated ({error}); fetch it again"
        ) from None
    return found


def _missing(folder: Path, name: str) -> ModelFolderError:
    """Return the error for weights that are not there, with what may have happened."""
    begun = list(folder.rglob(INCOMPLETE))
    if folder.parent.name == "snapshots":
        begun += folder.parent.parent.glob(f"blobs/{INCOMPLETE}")
    why = (
        f"its download was interrupted ({begun[0].name!r}), so fetch it again"
        if begun
        else "its weights are missing"
    )
    return ModelFolderError(f"{str(folder)!r} has no {name}; {why}")


def read_arrays(folder: Path) -> dict[str, NDArray[Any]]:
    """Return the weights of a module that has one file of them, float32 and int64.

    Raises:
        ModelFolderError: see `check_files`.
    """
    check_files(folder)
    path = folder / WEIGHTS
    if not path.is_file():
        raise _missing(folder, WEIGHTS)
    arrays = {}
    for name, stored in _stored(path).items():
        values = np.fromfile(path, stored.dtype, prod(stored.shape), offset=stored.begin)
        if stored.halved:
            values = (values.astype(np.uint32) << 16).view(np.float32)
        kind = np.float32 if values.dtype.kind == "f" else np.int64
        arrays[name] = values.reshape(stored.shape).astype(kind, copy=False)
    return arrays
