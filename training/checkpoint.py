"""Checkpoint folders: what training writes and export reads.

``ranklet.json`` names the kind, its settings and how they came about. Arrays are .npy files, and
the tokenizer of word pieces is ``tokenizer.json``. A neural kind also has ``config.json`` and
``model.safetensors``, which are Hugging Face's, so transformers' AutoModel opens a RepBERT without
conversion. Nothing is pickled.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import FILE as PROBES
from ranklet.corpus.collections.probes import Probes, read_probes
from ranklet.corpus.indexing.wordpieces import read_tokenizer
from ranklet.corpus.languages.names import LANGUAGES
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.bundles.manifest import FORMAT_VERSION, other_version
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.kinds import ranker_module
from ranklet.runtime.storage.address import writable
from ranklet.runtime.text.names import NORMALISERS
from ranklet.runtime.writing.atomic_folder import atomic_folder
from ranklet.runtime.writing.strangers import files_in, matching, refuse_strangers
from ranklet.version import __version__

if TYPE_CHECKING:
    from tokenizers import Tokenizer

RANKLET, TOKENS, CURVE = "ranklet.json", "tokens.json", "curve.json"  # our own files
TOKENIZER, NETWORK, WEIGHTS = "tokenizer.json", "config.json", "model.safetensors"  # Hugging Face's

_OWN = matching(
    RANKLET, TOKENS, CURVE, TOKENIZER, NETWORK, WEIGHTS, PROBES, "*.npy"
)  # what a checkpoint may hold

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A trained ranker.

    Attributes:
        kind: one of `KINDS`.
        settings: the kind's frozen settings.
        arrays: the kind's arrays by name.
        tokens: the spellings of token ids if the arrays use ids of their own.
        tokenizer: the tokenizer of the field wordpieces or of a neural kind.
        training: a report of the training, for people.
        curve: ``step``, ``loss`` and ``rate`` of points of the training; empty for other kinds.
        network: the content of config.json, which describes the network; empty for other kinds.
        weights: the weights of the network by the names of its parameters.
        probes: the texts on which export proves its variants. Training sets them aside.
        languages: codes of the languages by which words were read, most frequent first; empty if no
            words were, or if they are read as English.
        normaliser: what the forms of a word had in common; "" if `languages` is empty.
        queries: what encodes queries, if it is another network; only imported encoders have one,
            which cannot be saved.
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
    curve: Mapping[str, Sequence[float]] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    normaliser: str = ""
    queries: "Checkpoint | None" = None

    @property
    def words(self) -> TextOptions | None:
        """How its words are read; None if it reads none."""
        if self.languages:
            return TextOptions.of(self.languages, self.normaliser)
        return TextOptions() if self.settings.field in ("words", "lemmas") else None

    @property
    def digest(self) -> str:
        """A text that changes whenever the network's weights or the settings do."""
        found = hashlib.sha256(repr(self.settings).encode())
        for name, values in sorted(self.weights.items()):
            found.update(name.encode() + np.ascontiguousarray(values).tobytes())
        return found.hexdigest()

    def save(self, path: str | Path) -> Path:
        """Write the folder atomically, replacing an earlier checkpoint there.

        Raises:
            InputError: the path is something that is not a checkpoint, or a number that was learned
                is not finite.
        """
        if self.queries is not None:
            raise InputError(
                "an encoder whose queries have a network of their own cannot be saved; export it"
            )
        check_place(Path(path))
        path = Path(path).absolute()  # of now, whatever folder is the working one later
        check_finite({**self.arrays, **self.weights}, f"this {self.kind} checkpoint")
        with atomic_folder(path, check_place) as partial:
            self._write(partial)
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
            _write_json(folder / TOKENS, self.tokens)
        if self.tokenizer is not None:
            # Its own `save` fails on a full disk by a bare Exception.
            (folder / TOKENIZER).write_text(self.tokenizer.to_str(pretty=True), "utf-8")
        if self.weights:
            from safetensors.numpy import save

            whole = {name: np.ascontiguousarray(values) for name, values in self.weights.items()}
            needed_by_transformers = {"format": "pt"}
            (folder / WEIGHTS).write_bytes(save(whole, needed_by_transformers))
            _write_json(folder / NETWORK, self.network)
        if self.probes is not None:
            self.probes.save(folder)
        if self.curve:
            (folder / CURVE).write_text(json.dumps(dict(self.curve)), "utf-8")
        described = {
            "format_version": FORMAT_VERSION,
            "ranklet_version": __version__,
            "kind": self.kind,
            "settings": asdict(self.settings),
            "training": dict(self.training),
        }
        if self.languages:
            described |= {"languages": list(self.languages), "normaliser": self.normaliser}
        _write_json(folder / RANKLET, described)


def check_place(path: Path, *, replace: bool = True) -> None:
    """Raise InputError unless a checkpoint can be written to a path.

    The path must be free or, if `replace`, an earlier checkpoint and nothing else. Nothing else is
    ever replaced.
    """
    path = writable(path)
    if not path.exists():
        return
    if not _is_checkpoint(path):
        raise InputError(
            f"{str(path)!r} exists and is no checkpoint (it holds no {RANKLET}); choose another "
            "name"
        )
    if not replace:
        raise InputError(f"{str(path)!r} exists; choose another name, or replace it with --force")
    refuse_strangers(
        path, files_in(path), lambda name: "/" not in name and _OWN(name), "checkpoint", InputError
    )


def _is_checkpoint(path: Path) -> bool:
    try:
        described = _read_json(path / RANKLET)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(described, dict) and {"kind", "settings"} <= described.keys()


def check_finite(weights: Arrays, what: str) -> None:
    """Raise an InputError that names `what` if a weight is infinite or not a number."""
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
        InputError: there is no checkpoint, or it is damaged.
    """
    path = Path(path)
    if not (path / RANKLET).is_file():
        raise InputError(
            f"there is no checkpoint at {str(path)!r}, because {RANKLET} is missing; give a folder "
            "that `ranklet train` wrote"
        )
    try:
        described = _read_json(path / RANKLET)
        kind, raw = described["kind"], dict(described["settings"])
        if reason := other_version(
            described.get("format_version", 1), "train it again with `ranklet train`"
        ):
            raise InputError(f"the checkpoint {str(path)!r} {reason}")
        settings = ranker_module(kind).SETTINGS.from_json(raw, str(path / RANKLET))
        arrays = {file.stem: np.load(file, allow_pickle=False) for file in path.glob("*.npy")}
        tokens, training = _read_tokens(path / TOKENS), dict(described.get("training", {}))
        network = _read_json(path / NETWORK) if (path / NETWORK).is_file() else {}
        curve = _read_json(path / CURVE) if (path / CURVE).is_file() else {}
        languages, normaliser = _read_languages(described)
    except (OSError, EOFError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(f"the checkpoint {str(path)!r} cannot be read: {error!r}") from error
    except BundleError as error:  # a wrong setting, which the message names
        raise InputError(str(error)) from error
    weights = _read_weights(path / WEIGHTS) if (path / WEIGHTS).is_file() else {}
    tokenizer = read_tokenizer(path / TOKENIZER) if (path / TOKENIZER).is_file() else None
    return Checkpoint(
        kind, settings, arrays, tokens, tokenizer, training, network, weights, read_probes(path),
        curve, languages, normaliser,
    )  # fmt: skip


def _read_languages(described: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    languages, normaliser = described.get("languages", []), described.get("normaliser", "")
    if not isinstance(languages, list) or not all(each in LANGUAGES for each in languages):
        raise ValueError(f"languages is {languages!r}; it must be a list of codes")
    if languages and normaliser not in NORMALISERS:
        raise ValueError(f"normaliser is {normaliser!r}; it must be stem, none or forms")
    return tuple(languages), normaliser


def _read_tokens(path: Path) -> tuple[str, ...]:
    tokens = _read_json(path) if path.is_file() else []
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise ValueError(f"{path.name} is not a list of strings")
    return tuple(tokens)


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
