"""Checkpoint folders: what training writes and export reads.

``ranklet.json`` names the kind, its settings and how they came about; arrays are .npy files beside
it, word pieces a ``tokenizer.json``. A neural kind has Hugging Face's files as well,
``config.json`` and ``model.safetensors``: transformers' AutoModel opens a RepBERT as it stands.
Nothing is pickled.
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
from ranklet.runtime.storage.earlier import translated, translated_network
from ranklet.training.data.probes import Probes, read_probes
from ranklet.training.indexing.wordpieces import read_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

RANKLET = "ranklet.json"  # ours
TOKENIZER = "tokenizer.json"
NETWORK = "config.json"  # Hugging Face's
WEIGHTS = "model.safetensors"
TOKENS = "tokens.json"

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A trained ranker.

    Attributes:
        kind: one of `KINDS`.
        settings: the kind's frozen settings.
        arrays: by name.
        tokens: spellings of token ids, where the arrays use ids of their own.
        tokenizer: for the field wordpieces, and for neural kinds.
        training: how it came about; for people.
        network: what a neural network is made of, as config.json holds it; empty for other kinds.
        weights: of the network, by the name of the parameter.
        probes: texts that export proves its variants on, set aside by training.
    """

    kind: str
    settings: Any
    arrays: Arrays = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    tokenizer: "Tokenizer | None" = None
    training: Mapping[str, Any] = field(default_factory=dict)
    network: Mapping[str, Any] = field(default_factory=dict)
    weights: Arrays = field(default_factory=dict)
    probes: Probes | None = None

    def save(self, path: str | Path) -> Path:
        """Write the folder atomically, replacing an earlier checkpoint there.

        Raises:
            InputError: something that is not a checkpoint is in the way, or a number that was
                learned is not finite.
        """
        path = Path(path).absolute()  # "." has no name to put a folder beside
        check_place(path)
        check_finite({**self.arrays, **self.weights}, f"this {self.kind} checkpoint")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
        earlier = path.with_name(f".{path.name}.earlier-{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            self._write(partial)
            if path.exists():
                path.rename(earlier)  # aside, not away: the new one has not taken its place yet
            partial.rename(path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            if earlier.exists():
                earlier.rename(path)
            raise
        shutil.rmtree(earlier, ignore_errors=True)
        return path

    def need_tokenizer(self) -> "Tokenizer":
        """Return the tokenizer, or raise InputError if there is none."""
        if self.tokenizer is None:
            raise InputError(f"this {self.kind} checkpoint has no {TOKENIZER}; train it again")
        return self.tokenizer

    def _write(self, folder: Path) -> None:
        for name, values in self.arrays.items():
            np.save(folder / f"{name}.npy", values, allow_pickle=False)
        if self.tokens:
            _write_json(folder / "tokens.json", self.tokens)
        if self.tokenizer is not None:
            self.tokenizer.save(str(folder / TOKENIZER))
        if self.weights:
            from safetensors.numpy import save

            whole = {name: np.ascontiguousarray(each) for name, each in self.weights.items()}
            transformers_asks_for = {"format": "pt"}
            (folder / WEIGHTS).write_bytes(save(whole, transformers_asks_for))
            _write_json(folder / NETWORK, self.network)
        if self.probes is not None:
            self.probes.save(folder)
        described = {
            "ranklet_version": ranklet.__version__,
            "kind": self.kind,
            "settings": asdict(self.settings),
            "training": dict(self.training),
        }
        _write_json(folder / RANKLET, described)


def check_place(path: Path, *, replace: bool = True) -> None:
    """Raise InputError where something that is not a checkpoint is in the way of one.

    Args:
        path: where it is to be written.
        replace: whether a checkpoint there may be replaced; else it is in the way, too.
    """
    if path.exists() and not (path / RANKLET).is_file():
        raise InputError(
            f"{str(path)!r} exists and is no checkpoint (it holds no {RANKLET}); choose another "
            "folder"
        )
    if path.exists() and not replace:
        raise InputError(f"{str(path)!r} exists; choose another name, or replace it with --force")


def check_finite(weights: Arrays, what: str) -> None:
    """Raise InputError, which names `what`, where a weight is infinite or not a number."""
    for name, values in weights.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            bad = int(values.size - np.isfinite(values).sum())
            raise InputError(
                f"{what}: {bad} of the {values.size} numbers in {name!r} are infinite or not a "
                "number, so nothing can be ranked with it; train it again with a lower learning "
                "rate"
            )


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint folder.

    Raises:
        InputError: it is not there, not a checkpoint, or damaged.
    """
    path = Path(path)
    if not (path / RANKLET).is_file():
        raise InputError(
            f"no checkpoint at {str(path)!r} (no {RANKLET} in it): `ranklet train` writes such a "
            "folder"
        )
    try:
        described = _read_json(path / RANKLET)
        if described["kind"] not in KINDS:
            raise ValueError(f"kind is {described['kind']!r}; known are {', '.join(KINDS)}")
        kind, raw, _ = translated(described["kind"], dict(described["settings"]))
        settings = ranker_module(kind).SETTINGS.from_json(raw, str(path / RANKLET))
        arrays = {each.stem: np.load(each, allow_pickle=False) for each in path.glob("*.npy")}
        listed, training = _tokens(path / TOKENS), dict(described.get("training", {}))
        network = _read_json(path / NETWORK) if (path / NETWORK).is_file() else {}
        network = translated_network(network)
    except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"the checkpoint {str(path)!r} cannot be read: {error!r}") from error
    except BundleError as error:  # a setting, which is named
        raise InputError(str(error)) from error
    weights = _read_weights(path / WEIGHTS) if (path / WEIGHTS).is_file() else {}
    tokenizer = read_tokenizer(path / TOKENIZER) if (path / TOKENIZER).is_file() else None
    return Checkpoint(
        kind, settings, arrays, listed, tokenizer, training, network, weights, read_probes(path)
    )


def _tokens(path: Path) -> tuple[str, ...]:
    found = _read_json(path) if path.is_file() else []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{path.name} is not a list of strings")
    return tuple(found)


def _read_weights(path: Path) -> Arrays:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        weights: Arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"the weights {str(path)!r} cannot be read ({error}); train the checkpoint again"
        ) from error
    return weights


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
