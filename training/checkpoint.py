"""Checkpoint folders: what training writes and export reads.

``config.json`` names the kind, its settings and how they came about; arrays are .npy files beside
it, word pieces a ``tokenizer.json``. Nothing is pickled.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import ranklet
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.rankers import KINDS, ranker_module

from .wordpieces import read_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TOKENS = "tokens.json"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A trained ranker.

    Attributes:
        kind: one of `KINDS`.
        settings: the kind's frozen `Settings`.
        arrays: by name.
        tokens: spellings of token ids, where the arrays use ids of their own.
        tokenizer: for the field wordpieces.
        training: how it came about; for people.
    """

    kind: str
    settings: Any
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    tokenizer: "Tokenizer | None" = None
    training: Mapping[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> Path:
        """Write the folder atomically, replacing an earlier checkpoint there.

        Raises:
            InputError: something that is not a checkpoint is in the way.
        """
        path = Path(path).absolute()  # "." has no name to put a folder beside
        if path.exists() and not (path / CONFIG).is_file():
            raise InputError(f"{str(path)!r} exists and is no checkpoint; choose another folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            for name, values in self.arrays.items():
                np.save(partial / f"{name}.npy", values, allow_pickle=False)
            if self.tokens:
                (partial / TOKENS).write_text(json.dumps(self.tokens))
            if self.tokenizer is not None:
                self.tokenizer.save(str(partial / TOKENIZER))
            config = {
                "ranklet_version": ranklet.__version__,
                "kind": self.kind,
                "settings": asdict(self.settings),
                "training": dict(self.training),
            }
            (partial / CONFIG).write_text(json.dumps(config, indent=1) + "\n")
            if path.exists():
                shutil.rmtree(path)
            partial.rename(path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return path


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint folder.

    Raises:
        InputError: it is not there, not a checkpoint, or damaged.
    """
    path = Path(path)
    if not (path / CONFIG).is_file():
        raise InputError(f"no checkpoint at {str(path)!r}: `ranklet train` writes such a folder")
    try:
        config = json.loads((path / CONFIG).read_text("utf-8"))
        kind, raw = config["kind"], config["settings"]
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}; known are {', '.join(KINDS)}")
        settings = ranker_module(kind).Settings.from_json(raw, str(path / CONFIG))
        arrays = {each.stem: np.load(each, allow_pickle=False) for each in path.glob("*.npy")}
        listed, training = _tokens(path / TOKENS), dict(config.get("training", {}))
    except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"the checkpoint {str(path)!r} cannot be read: {error!r}") from error
    except BundleError as error:  # a setting, which is named
        raise InputError(str(error)) from error
    tokenizer = read_tokenizer(path / TOKENIZER) if (path / TOKENIZER).is_file() else None
    return Checkpoint(kind, settings, arrays, listed, tokenizer, training)


def _tokens(path: Path) -> tuple[str, ...]:
    found = json.loads(path.read_text("utf-8")) if path.is_file() else []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{path.name} is not a list of strings")
    return tuple(found)
