"""Import sentence-transformers models and plain encoders as the kind `dense`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ranklet.runtime.errors import ModelFolderError
from ranklet.runtime.onnx.encoder import feeds
from ranklet.runtime.rankers.dense import NETWORKS, POOLINGS, DenseSettings
from ranklet.runtime.text.tokenizing import token_ids
from ranklet.training.checkpoint import RANKLET, Arrays, Checkpoint, read_checkpoint
from ranklet.training.imported.encoder import load_network, state_size
from ranklet.training.imported.folder import CONFIG, ModelFolder, Module, read_weights
from ranklet.training.imported.layers import LAYERS, linear_layer, load_layer
from ranklet.training.imported.original import load_original
from ranklet.training.imported.routes import modules_by_role, same
from ranklet.training.imported.sentence_settings import (
    POOLING_MODES,
    Prompts,
    chosen_prompts,
    dimension_of,
    encode_with_library,
    prompts_of,
    similarity_of,
)
from ranklet.training.imported.tokenizer import model_tokenizer, text_limits, transformer_settings
from ranklet.training.learning.weights import load_weights, weights_of
from ranklet.training.pretrained.backbone import new_model
from ranklet.training.rankers.dense.network import DenseNetwork

# sentence-transformers' names of poolings in both of its formats, and ours.
_POOLINGS = {
    "mean": "mean", "cls": "cls", "max": "max", "lasttoken": "last",
    "weightedmean": "weighted_mean", "mean_sqrt_len_tokens": "mean_sqrt", **POOLING_MODES,
}  # fmt: skip
IGNORED = ("Dropout",)  # does nothing outside of training
MODULES = ("Dense", "LayerNorm", "Normalize")

# The published checkpoints of Zhan et al. 2020 are a BERT that was saved by one of these classes,
# and nothing else in their folder says how it reads: 20 tokens of a query and 256 of a document,
# and [CLS] and [SEP].
REPBERT, REPBERT_LIMITS = "RepBERT", (22, 258)


@dataclass(frozen=True)
class SentenceEncoder:
    """What a folder says beyond its transformer.

    Attributes:
        pooling: one of `POOLINGS`.
        similarity: dot or cosine.
        layers: descriptions of the layers after pooling, for `make_layer`.
        modules: the modules of these layers, in the same order.
        dimension: the dimension of the vectors, if layers change it; 0 for the transformer's.
        truncated: how many of their numbers are kept; 0 for all.
        query_prompt: the text before every query.
        document_prompt: the text before every document.
        document_segment: token_type_ids of documents.
        limits: tokens of a query and of a document; 0 for as many as the transformer reads.
        weights: the weights of the layers, if they come from a checkpoint and not from modules.
    """

    pooling: str = "mean"
    similarity: str = "cosine"
    layers: tuple[Mapping[str, Any], ...] = ()
    modules: tuple[Module, ...] = ()
    dimension: int = 0
    truncated: int = 0
    query_prompt: str = ""
    document_prompt: str = ""
    document_segment: int = 0
    limits: tuple[int, int] = (0, 0)
    weights: Arrays = field(default_factory=dict)


def describe(
    folder: ModelFolder, prompts: Prompts | None = None, given: Sequence[Module] | None = None
) -> SentenceEncoder:
    """Return what sentence-transformers does after and around the transformer of a folder.

    A plain encoder gets the mean and the cosine, which nothing in the folder says.

    Args:
        folder: the model's folder.
        prompts: the prompts; None for the folder's.
        given: the modules; None for those of documents.

    Raises:
        ModelFolderError: a module or a setting is not supported.
    """
    prompts = prompts or prompts_of(folder)
    every = modules_by_role(folder)[1] if given is None else given
    if not folder.modules and folder.architecture.startswith(REPBERT):
        return SentenceEncoder(similarity="dot", document_segment=1, limits=REPBERT_LIMITS)
    if not every:
        return SentenceEncoder(query_prompt=prompts.query, document_prompt=prompts.document)
    first, *rest = every
    rest = [module for module in rest if module.name not in IGNORED]
    if first.name != "Transformer" or not rest or rest[0].name != "Pooling":
        names = ", ".join(module.name for module in every)
        raise ModelFolderError(
            f"{str(folder.path)!r} has the modules {names}; supported are Transformer, Pooling, "
            f"{', '.join(MODULES)}, or StaticEmbedding alone"
        )
    pooling = _pooling(rest[0])
    layers, modules, dimension, normalised = [], [], 0, False
    for module in rest[1:]:
        if module.name not in MODULES or (normalised and module.name != "Normalize"):
            raise ModelFolderError(
                f"{str(folder.path)!r} has the module {module.name}"
                f"{' after Normalize' if normalised else ''}, which is not supported; supported "
                f"after Pooling are {', '.join(MODULES)}"
            )
        _check_plain(module)
        if module.name == "Normalize":
            normalised = True
            continue
        layer = _layer(module)
        layers.append(layer)
        modules.append(module)
        dimension = int(layer.get("out", dimension))
    if any(prompts) and rest[0].config.get("include_prompt") is False:
        raise ModelFolderError(
            f"{str(folder.path)!r} leaves its prompts out of the pooling (include_prompt), which "
            "is not supported"
        )
    return SentenceEncoder(
        pooling,
        "cosine" if normalised else similarity_of(folder),
        tuple(layers),
        tuple(modules),
        dimension,
        int(folder.sentence.get("truncate_dim") or 0),
        *prompts,
        limits=text_limits(transformer_settings(first.folder)),
    )


def describe_backbone(folder: Path) -> SentenceEncoder:
    """Return the description of an encoder that a training keeps; see `describe`.

    Raises:
        ModelFolderError: see `describe`.
    """
    if not (folder / RANKLET).is_file():
        return describe(ModelFolder(folder))
    checkpoint = read_checkpoint(folder)
    settings = checkpoint.settings
    if not isinstance(settings, DenseSettings):
        return SentenceEncoder()
    return SentenceEncoder(
        settings.pooling,
        settings.similarity,
        tuple(checkpoint.network.get(LAYERS, ())),
        dimension=settings.dimension,
        query_prompt=settings.query_prompt,
        document_prompt=settings.document_prompt,
        document_segment=settings.document_segment,
        weights=checkpoint.weights,
    )


def import_model(
    folder: ModelFolder,
    *,
    dimension: int | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
) -> Checkpoint:
    """Return a sentence encoder, or a plain encoder, as a checkpoint.

    Args:
        folder: the model's folder.
        dimension: keep only the first numbers of a vector, for a Matryoshka model.
        query_prompt: the text before every query; None for the folder's.
        document_prompt: the text before every document; None for the folder's.

    Raises:
        ModelFolderError: the folder cannot be used.
        InputError: the vectors are shorter than the dimension.
    """
    prompts = chosen_prompts(folder, query_prompt, document_prompt)
    of_queries, of_documents = modules_by_role(folder)
    documents = _imported(folder, of_documents, prompts, dimension)
    if same(of_queries, of_documents):
        return documents
    queries = _imported(folder, of_queries, prompts, dimension)
    lengths, ways = (
        {getattr(each.settings, name) for each in (queries, documents)}
        for name in ("dimension", "similarity")
    )
    if len(lengths) > 1 or len(ways) > 1:
        raise ModelFolderError(
            f"{str(folder.path)!r} makes vectors of queries and of documents that cannot be "
            f"compared: {sorted(lengths)} numbers, {' and '.join(sorted(ways))}"
        )
    settings = replace(
        documents.settings, encoder=NETWORKS, max_query_tokens=queries.settings.max_query_tokens
    )
    return replace(documents, settings=settings, queries=queries)


def _imported(
    folder: ModelFolder, modules: Sequence[Module], prompts: Prompts, dimension: int | None
) -> Checkpoint:
    """Return the encoder that some modules of a folder are; see `import_model`."""
    described = describe(folder, prompts, modules)
    place = modules[0].folder if modules else folder.path
    encoder, config = load_network(place, "AutoModel", transformer_settings(place))
    tokenizer = model_tokenizer(place)
    longest = tokenizer.longest_text(encoder)
    whole = described.dimension or state_size(encoder)
    of_query, of_document = (min(longest, limit or longest) for limit in described.limits)
    settings = DenseSettings(
        of_query,
        of_document,
        dimension_of(folder, dimension, whole),
        pooling=described.pooling,
        similarity=described.similarity,
        document_segment=described.document_segment,
        query_prompt=described.query_prompt,
        document_prompt=described.document_prompt,
    )
    network = DenseNetwork(encoder, settings, described.layers)
    load_layers(network, described)
    return Checkpoint(
        "dense",
        settings,
        tokenizer=tokenizer.tokenizer,
        training={"imported": folder.name},
        network={**config, LAYERS: list(described.layers)},
        weights=weights_of(network),
    )


def largest_difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference from sentence-transformers' own vectors, over all numbers.

    Texts are encoded as queries and as documents, each with its prompt.
    """
    settings: DenseSettings = checkpoint.settings
    prompts = settings.query_prompt, settings.document_prompt
    theirs = load_original("SentenceTransformer", folder.path)
    encoded = encode_with_library(theirs, folder, texts, prompts)
    del theirs  # two networks need not be in memory
    differences = []
    limits = settings.max_query_tokens, settings.max_document_tokens
    parts = checkpoint.queries or checkpoint, checkpoint
    for part, prompt, limit, expected in zip(parts, prompts, limits, encoded, strict=True):
        network = DenseNetwork(
            new_model(part.network, "eager", segments=False), part.settings, part.network[LAYERS]
        )
        load_weights(network.eval(), part.weights)
        expected = np.asarray(expected)[:, : settings.dimension]
        if settings.similarity == "cosine":
            expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
        ids, _ = token_ids(part.need_tokenizer(), [prompt + text for text in texts], limit)
        with torch.inference_mode():
            ours = [
                network(*(torch.from_numpy(values) for values in feeds([row], 0).values()))
                for row in ids
            ]
        differences.append(np.abs(torch.cat(ours).numpy() - expected).max())
    return float(max(differences))


def load_layers(network: Any, begin: SentenceEncoder) -> None:
    """Put the weights of an encoder's layers after pooling into a network, in place."""
    if begin.weights:
        load_weights(network.layers, begin.weights, "layers.")
        return
    for layer, module in zip(network.layers, begin.modules, strict=True):
        state = {
            name.replace("linear.", "0.").removeprefix("norm."): values
            for name, values in read_weights(module.folder).items()
        }
        load_layer(layer, state, module.folder)


def _pooling(module: Module) -> str:
    config = module.config
    mode = config.get("pooling_mode")
    modes = [mode] if isinstance(mode, str) else mode
    if modes is None:
        modes = [name for name, on in config.items() if name.startswith("pooling_") and on is True]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        names = ", ".join(map(str, modes))
        what = {0: "no pooling", 1: f"the pooling {names}"}.get(len(modes), f"the poolings {names}")
        raise ModelFolderError(
            f"{str(module.folder / CONFIG)!r} has {what}; supported is one of {', '.join(POOLINGS)}"
        )
    return _POOLINGS[modes[0]]


def _check_plain(module: Module) -> None:
    """Raise ModelFolderError unless a module changes the pooled vector and nothing else."""
    inputs = {module.config.get(f"module_{end}_name") for end in ("input", "output")}
    unusual = sorted(map(str, inputs - {None, "sentence_embedding"}))
    if module.config.get("use_residual"):
        unusual.append("use_residual")
    if unusual:
        raise ModelFolderError(
            f"{str(module.folder)!r}: {module.name} with {', '.join(unusual)} is not supported"
        )


def _layer(module: Module) -> Mapping[str, Any]:
    if module.name != "LayerNorm":
        return {"type": "dense", **linear_layer(module, "Tanh")}
    if "dimension" not in module.config:
        raise ModelFolderError(f"{str(module.folder / CONFIG)!r}: 'dimension' is missing")
    return {"type": "layer_norm", "in": module.config["dimension"]}
