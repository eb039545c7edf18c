"""Read the files of a model's folder, without ever opening a pickle file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.runtime.errors import InputError, ModelFolderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

# Packages of the modules that are supported, which are described and never run.
LIBRARIES = ("sentence_transformers", "pylate")
MODULES, CONFIG, SENTENCE = "modules.json", "config.json", "config_sentence_transformers.json"
TRANSFORMER = "sentence_bert_config.json"  # of a Transformer module, in its folder
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "model.bin", "pytorch_model.bin.index.json")
METADATA = "artifact.metadata"  # of colbert-ir's ColBERT
ADAPTER = "adapter_config.json"  # of peft
# A tokenizer_config.json without a limit has this number or a larger one.
NO_LIMIT = 1_000_000


@dataclass(frozen=True)
class Module:
    """One module of a sentence-transformers model, such as Pooling, and the folder of its files."""

    name: str
    folder: Path
    config: Mapping[str, Any] = field(default_factory=dict)


class ModelFolder:
    """The folder of a model in the format of sentence-transformers or transformers.

    Args:
        path: the folder.

    Raises:
        ModelFolderError: there is no such folder, or no config in it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = self.path.resolve().name
        if not self.path.is_dir():
            raise ModelFolderError(f"no folder {str(path)!r}; give the folder of a model")
        if not any((self.path / name).is_file() for name in (CONFIG, MODULES)):
            raise ModelFolderError(
                f"{str(path)!r} has no {CONFIG} and no {MODULES}, so it is no model; give a folder "
                "that save_pretrained of transformers or sentence-transformers has written, or a "
                "checkpoint of `ranklet train`"
            )

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """The modules of a sentence-transformers model, in order; empty for a plain model."""
        if not (self.path / MODULES).is_file():
            return ()
        modules = []
        for entry in read_json(self.path / MODULES, list):
            try:
                modules.append(self.module(entry["type"], entry["path"], MODULES))
            except (KeyError, TypeError):
                raise ModelFolderError(
                    f"{self.path / MODULES}: {entry!r:.80} is no module"
                ) from None
        return tuple(modules)

    def module(self, kind: str, place: str, named_in: str) -> Module:
        """Return the module of a class and a place in the folder, which a JSON file names.

        Raises:
            TypeError: they are no texts.
            ModelFolderError: the class is code of the folder, or the place is outside of it.
        """
        if not isinstance(kind, str) or not isinstance(place, str):
            raise TypeError
        if not kind.startswith(tuple(f"{library}." for library in LIBRARIES)):
            raise ModelFolderError(
                f"{str(self.path)!r} needs code of its own ({kind}), which is never run; modules "
                "of sentence-transformers are supported"
            )
        root = self.path.resolve()
        folder = (root / place).resolve()
        if not folder.is_relative_to(root):
            raise ModelFolderError(f"{self.path / named_in}: {place!r} is outside of the folder")
        own = folder != root and (folder / CONFIG).is_file()
        return Module(kind.rsplit(".", 1)[-1], folder, read_json(folder / CONFIG) if own else {})

    @cached_property
    def sentence(self) -> Mapping[str, Any]:
        """What sentence-transformers says of the whole model: prompts, similarity, activation."""
        return self.json(SENTENCE) if (self.path / SENTENCE).is_file() else {}

    @cached_property
    def is_static(self) -> bool:
        """Whether it has one vector per token and no network (StaticEmbedding, model2vec)."""
        if self.modules:
            return "StaticEmbedding" in [module.name for module in self.modules]
        return "StaticModel" in (self.json(CONFIG).get("architectures") or [])

    def json(self, name: str) -> Any:
        """Return the object in a JSON file of the folder."""
        return read_json(self.path / name)


def read_json(path: Path, kind: type = dict) -> Any:
    """Return the content of a JSON file.

    Args:
        path: the file.
        kind: dict for an object, list for an array.

    Raises:
        ModelFolderError: the file is missing or no JSON, or contains something else.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFolderError(f"{str(path)!r} cannot be read: {error}") from None
    if not isinstance(content, kind):
        name = "object" if kind is dict else "array"
        raise ModelFolderError(f"{str(path)!r} must contain an {name}")
    return content


def check_weights(folder: Path) -> None:
    """Raise ModelFolderError unless a folder has weights that are safe to read and complete."""
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        pickled = next((name for name in PICKLES if (folder / name).is_file()), None)
        if pickled:
            raise ModelFolderError(
                f"{str(folder)!r} has its weights only in {pickled}, a pickle file, which can run "
                "any code and is never opened; save the model again with safe_serialization=True"
            )
        raise ModelFolderError(f"{str(folder)!r} has no {WEIGHTS}; its weights are missing")
    from safetensors import SafetensorError, safe_open

    for path in paths:
        try:
            with safe_open(str(path), "numpy") as file:
                file.keys()
        except (OSError, SafetensorError) as error:
            raise ModelFolderError(
                f"{str(path)!r} is damaged or truncated ({error}); fetch it again"
            ) from None


def read_weights(folder: Path) -> "dict[str, Tensor]":
    """Return the weights of a module that has one file of them, float32 and int64.

    Raises:
        ModelFolderError: see `check_weights`.
    """
    from safetensors.torch import load_file

    check_weights(folder)
    if not (folder / WEIGHTS).is_file():
        raise ModelFolderError(f"{str(folder)!r} has no {WEIGHTS}; its weights are missing")
    weights = load_file(folder / WEIGHTS)
    return {
        name: values.float() if values.is_floating_point() else values.long()
        for name, values in weights.items()
    }


def read_any_tokenizer(folder: Path) -> "Tokenizer":
    """Read the tokenizer of a folder: WordPiece, SentencePiece or byte-level BPE.

    It lower-cases texts if the folder's sentence-transformers module does.

    Raises:
        ModelFolderError: there is none, or only one without a fast version.
    """
    from tokenizers import normalizers

    tokenizer = _read_tokenizer(folder)
    if (folder / TRANSFORMER).is_file() and read_json(folder / TRANSFORMER).get("do_lower_case"):
        own = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return tokenizer


def _read_tokenizer(folder: Path) -> "Tokenizer":
    from ranklet.training.indexing.wordpieces import read_tokenizer

    if (folder / "tokenizer.json").is_file():
        try:
            return read_tokenizer(folder / "tokenizer.json")
        except InputError as error:
            raise ModelFolderError(str(error)) from None
    sources = ("vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "spm.model")
    if not any((folder / name).is_file() for name in (*sources, "tokenizer.model")):
        raise ModelFolderError(
            f"{str(folder)!r} has no tokenizer; save the model's tokenizer there"
        )
    from transformers import AutoTokenizer

    try:
        slow = AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
        tokenizer: Tokenizer = slow.backend_tokenizer
    except Exception as error:  # the conversions raise many kinds
        raise ModelFolderError(
            f"the tokenizer of {str(folder)!r} cannot be converted: {first_line(error)}; save it "
            "as tokenizer.json"
        ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def longest_text(folder: Path, config: Mapping[str, Any]) -> int:
    """Return how many tokens a model reads, special tokens counted.

    It is the least of what sentence-transformers, the tokenizer and the position embeddings allow.

    Args:
        folder: the folder of the transformer's files.
        config: the content of its config.json.
    """
    limits = []
    for name, key in (
        (TRANSFORMER, "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        value = read_json(folder / name).get(key) if (folder / name).is_file() else None
        if isinstance(value, int | float) and 0 < value < NO_LIMIT:
            limits.append(int(value))
    positions = config.get("max_position_embeddings") or config.get("n_positions")
    if positions:
        # RoBERTa and its kin number positions from the padding token's id + 1.
        offset = _POSITIONS_BEGIN.get(str(config.get("model_type")), 0)
        limits.append(int(positions) - offset)
    return min(limits, default=512)


_POSITIONS_BEGIN = dict.fromkeys(
    ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "xlm-roberta-xl"), 2
)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0]
