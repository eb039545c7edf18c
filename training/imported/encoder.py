"""Load a transformer of any architecture from a folder, with one clear line if it cannot be."""

import inspect
import logging
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.imported.folder import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

# So that what a folder lacks is named, and not begun at random.
REPORTED: Mapping[str, Any] = {"output_loading_info": True, "ignore_mismatched_sizes": True}
GENERATIVE = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForSeq2SeqLM")

_log = logging.getLogger(__name__)


@contextmanager
def whole_weights(folder: Path) -> "Iterator[None]":
    """Check what transformers loads, by whatever library, against what a folder lacks.

    It says so itself only in a table that it logs, and begins the missing weights at random.

    Raises:
        ModelFolderError: see `check_whole`.
    """
    from transformers import PreTrainedModel

    own = PreTrainedModel.__dict__["from_pretrained"]

    def checked(cls: Any, *arguments: Any, **options: Any) -> Any:
        network, report = own.__func__(cls, *arguments, **{**options, **REPORTED})
        # Most encoders do not need their pooler, but classifiers do.
        needs_all = cls.__name__.endswith("ForSequenceClassification")
        missing = [each for each in report["missing_keys"] if needs_all or "pooler" not in each]
        check_whole(folder, missing, report)
        return network

    PreTrainedModel.from_pretrained = classmethod(checked)  # type: ignore[assignment]
    try:
        yield
    finally:
        PreTrainedModel.from_pretrained = own  # type: ignore[method-assign]


def pretrained(
    folder: Path, loader: str, config: Mapping[str, Any], attention: str
) -> tuple[Any, Mapping[str, Any]]:
    """Return a network as transformers loads it, and its report of what the folder lacks."""
    import torch

    found: tuple[Any, Mapping[str, Any]] = network_class(loader, config).from_pretrained(
        str(folder),
        # In 16 bits even numbers that are no weights, such as a scale, would be rounded.
        dtype=torch.float32,
        attn_implementation=implementation(attention),
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        **REPORTED,
    )
    return found


def check_whole(folder: Path, missing: Sequence[str], report: Mapping[str, Any]) -> None:
    """Raise ModelFolderError if a network has begun some weights anew, because a folder lacks them.

    Args:
        folder: of the network.
        missing: the names of the weights.
        report: what transformers says of the loading.
    """
    for name, stored, wanted in sorted(report["mismatched_keys"]):
        raise ModelFolderError(
            f"{str(folder)!r} has {name!r} of the shape {tuple(stored)}, where its {CONFIG} asks "
            f"for {tuple(wanted)}; the two belong to different models"
        )
    if missing:
        raise ModelFolderError(
            f"{str(folder)!r} lacks the weights of {len(missing)} parts of the network, such as "
            f"{min(missing)!r}; it was saved for another purpose"
        )


def check_numbers(folder: Path, weights: Mapping[str, Any]) -> None:
    """Raise ModelFolderError if weights, by name, hold what is no finite number."""
    for name, values in weights.items():
        if not np.isfinite(np.asarray(values)).all():
            raise ModelFolderError(
                f"{str(folder)!r} has weights that are no finite numbers (NaN or infinite), such "
                f"as those of {name!r}; fetch the model again, or save it again"
            )


def network_class(loader: str, config: Mapping[str, Any]) -> Any:
    """Return the class of transformers that loads a network.

    Of a network with a decoder, such as T5, it is the class of the encoder alone.

    Args:
        loader: the name of an Auto class.
        config: the content of config.json.
    """
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    if loader == "AutoModel":
        name = MODEL_MAPPING_NAMES.get(str(config.get("model_type")), "")
        encoder = f"{str(name).removesuffix('Model')}EncoderModel"
        if name and hasattr(transformers, encoder):
            return getattr(transformers, encoder)
    return getattr(transformers, loader)


def implementation(attention: str) -> str | None:
    """Return what transformers is asked for; of itself it takes sdpa where a network has that.

    MPNet and DeBERTa have eager attention only, and would be refused if sdpa were asked for.
    """
    return None if attention == "sdpa" else attention


def new_network(loader: str, config: Mapping[str, Any], attention: str) -> "torch.nn.Module":
    """Return a network with random weights, float32; see `network_class`."""
    described, source = read_known_config(config), network_class(loader, config)
    if source.__name__ != loader:
        described._attn_implementation = implementation(attention)
        network: torch.nn.Module = source(described)
        return network
    network = source.from_config(described, attn_implementation=implementation(attention))
    return network  # noqa: RET504, because the class is untyped


def read_known_config(config: Mapping[str, Any]) -> Any:
    """Return the content of a config.json as an object of transformers, for a float32 network."""
    from transformers import AutoConfig

    types = ("dtype", "torch_dtype")  # newer and older name of the type of the saved weights
    return AutoConfig.for_model(**{key: value for key, value in config.items() if key not in types})


def check_known(folder: Path, config: Mapping[str, Any]) -> None:
    """Check that a network can be used at all.

    Raises:
        ModelFolderError: its code is in the folder and not in transformers.
    """
    if not isinstance(config.get("auto_map"), dict):
        return
    import transformers

    own = [config["auto_map"].get(key) for key in ("AutoConfig", "AutoModel")]
    names = [str(place).rsplit(".", 1)[-1] for place in own if place]
    unknown = [name for name in names if not hasattr(transformers, name)]
    if unknown:
        raise ModelFolderError(
            f"{str(folder)!r} needs code of its own (auto_map), which is never run, and "
            f"transformers {transformers.__version__} has no {unknown[-1]}; use a model that "
            "transformers knows"
        )
    _log.info("%s: its own code (auto_map) is not run, but that of transformers", folder)


def check_not_generative(folder: Path, config: Mapping[str, Any]) -> None:
    """Raise ModelFolderError if a network generates texts."""
    name = (config.get("architectures") or [""])[0]
    if name.endswith(GENERATIVE):
        raise ModelFolderError(
            f"{str(folder)!r} is a {name}, which generates texts; give an encoder, a cross-encoder "
            "or a sparse encoder"
        )


def plain_config(network: Any) -> dict[str, Any]:
    """Return the content of a network's config.json, without its path and its own code."""
    import json

    config: dict[str, Any] = json.loads(network.config.to_json_string(use_diff=False))
    for key in ("_name_or_path", "auto_map"):
        config.pop(key, None)
    return config


@contextmanager
def quiet() -> "Iterator[None]":
    """Hide the progress bars and remarks of transformers, and those of sentence-transformers."""
    from transformers.utils import logging as theirs

    sentence = logging.getLogger("sentence_transformers")
    before = sentence.level
    sentence.setLevel(logging.ERROR)
    level, bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity(logging.ERROR)
    theirs.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        sentence.setLevel(before)
        theirs.set_verbosity(level)
        if bars:
            theirs.enable_progress_bar()  # type: ignore[no-untyped-call]


def takes_token_types(encoder: "torch.nn.Module") -> bool:
    """Return whether an encoder has token_type_ids among its inputs, and more than one type."""
    accepts = "token_type_ids" in inspect.signature(encoder.forward).parameters
    types: int = getattr(encoder.config, "type_vocab_size", 0) or 0
    return accepts and types > 1
