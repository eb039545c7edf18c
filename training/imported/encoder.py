"""Load a transformer of any architecture from a folder, with one clear line if it cannot be."""

import logging
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.runtime.errors import ModelFolderError
from ranklet.training.imported.folder import ADAPTER, CONFIG, check_weights, first_line, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

GENERATIVE = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForSeq2SeqLM")


def load_network(
    folder: Path, loader: str, attention: str = "eager", *, whole: bool = False, **changes: Any
) -> "tuple[torch.nn.Module, dict[str, Any]]":
    """Return a network in evaluation mode, float32, and the content of its config.json.

    Args:
        folder: holds config.json and safe weights.
        loader: the class of transformers, AutoModel or another Auto class.
        attention: transformers' implementation of attention.
        whole: whether the network needs its pooler, as classifiers do and most encoders do not.
        changes: values of config.json that are replaced.

    Raises:
        ModelFolderError: weights are missing or damaged, or transformers does not know the network.
    """
    import transformers

    config = read_json(folder / CONFIG)
    check_weights(folder)
    check_known(folder, config)
    try:
        with quiet():
            network, report = getattr(transformers, loader).from_pretrained(
                str(folder), attn_implementation=attention, output_loading_info=True,
                local_files_only=True, use_safetensors=True, trust_remote_code=False, **changes,
            )  # fmt: skip
    except Exception as error:  # transformers raises many kinds
        raise ModelFolderError(f"{str(folder)!r} cannot be loaded: {first_line(error)}") from None
    missing = [name for name in report["missing_keys"] if whole or "pooler" not in name]
    if missing:
        raise ModelFolderError(
            f"{str(folder)!r} lacks the weights of {len(missing)} parts of the network, such as "
            f"{sorted(missing)[0]!r}; it was saved for another purpose"
        )
    return network.float().eval(), plain_config(network)


def check_known(folder: Path, config: Mapping[str, Any]) -> None:
    """Check that a network can be used at all.

    Raises:
        ModelFolderError: its code is in the folder, it generates texts, or it is only an adapter.
    """
    if (folder / ADAPTER).is_file():
        raise ModelFolderError(
            f"{str(folder)!r} is an adapter of another model ({ADAPTER}); merge the two by "
            "merge_and_unload of peft, and save the result"
        )
    if config.get("auto_map"):
        raise ModelFolderError(
            f"{str(folder)!r} needs code of its own (auto_map), which is never run; use a model "
            "that transformers knows"
        )
    name = (config.get("architectures") or [""])[0]
    if name.endswith(GENERATIVE):
        raise ModelFolderError(
            f"{str(folder)!r} is a {name}, which generates texts; give an encoder, a cross-encoder "
            "or a sparse encoder"
        )


def plain_config(network: Any) -> dict[str, Any]:
    """Return the content of a network's config.json, without the path that it was read from."""
    import json

    config: dict[str, Any] = json.loads(network.config.to_json_string(use_diff=False))
    config.pop("_name_or_path", None)
    return config


@contextmanager
def quiet() -> "Iterator[None]":
    """Hide transformers' progress bars and remarks."""
    from transformers.utils import logging as theirs

    level, bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity(logging.ERROR)
    theirs.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        theirs.set_verbosity(level)
        if bars:
            theirs.enable_progress_bar()  # type: ignore[no-untyped-call]
