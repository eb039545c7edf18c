"""Import SPLADE models of sentence-transformers and transformers, and inference-free ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.runtime.call.protocol import Role
from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.onnx.encoder import feeds
from ranklet.runtime.rankers.splade import ENCODER, SPLADESettings
from ranklet.runtime.text.tokenizing import encode, token_ids
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.original import (
    ReadTransformer,
    class_names,
    largest_difference,
    load_original,
    modules_by_role,
)
from ranklet.training.imported.tokenizer import own_tokenizer
from ranklet.training.learning.weights import take_weights
from ranklet.training.rankers.splade.forms import IDF
from ranklet.training.rankers.splade.network import POOLING, SPLADE
from ranklet.training.rankers.splade.training import load

DOCUMENTS = ["Transformer", "SpladePooling"]
QUERIES = ["SparseStaticEmbedding"]  # weights of query terms, where no network encodes queries
# The weights of `IDF` for OpenSearch, which weighs the tokens that this file leaves out, too.
OPENSEARCH = "query_token_weights.txt"
MOST_TOKENS = 8192  # limit of the settings


def import_model(folder: ModelFolder) -> Checkpoint:
    """Return a sparse encoder as a checkpoint.

    A folder without modules is a plain SPLADE v2. If it has weights of query terms, then no network
    encodes queries (arXiv 2411.04403).

    Raises:
        ModelFolderError: the folder cannot be used.
    """
    place = folder.path
    if not folder.modules and (place / OPENSEARCH).is_file() and not (place / IDF).is_file():
        raise ModelFolderError(
            f"{str(place)!r} has weights of query terms in {OPENSEARCH}, which does not have all "
            f"of them; fetch {IDF} of the same model, too"
        )
    model = _original(folder)
    queries, documents = modules_by_role(model, place)
    fixed = queries != documents
    if class_names(documents) != DOCUMENTS or (fixed and class_names(queries) != QUERIES):
        raise ModelFolderError(
            f"{str(place)!r} encodes documents by {', '.join(class_names(documents))} and queries "
            f"by {', '.join(class_names(queries))}; supported are {', then '.join(DOCUMENTS)}, and "
            f"for queries the same or {QUERIES[0]}"
        )
    unusual = {
        "the similarity": {"dot": ""}.get(model.similarity_fn_name, model.similarity_fn_name),
        "max_active_dims": model.max_active_dims,
        "the prompts": ", ".join(name for name, text in model.prompts.items() if text),
    }
    if found := [f"{name} {value}" for name, value in unusual.items() if value]:
        raise ModelFolderError(
            f"{str(place)!r} has {', '.join(found)}, which is not supported for a sparse encoder; "
            "give --prune instead of max_active_dims"
        )
    first, second = documents
    read = ReadTransformer.of(first, place, MOST_TOKENS)
    vocabulary = int(read.config["vocab_size"])
    settings = SPLADESettings(*read.limits, vocabulary, field="")
    if fixed:
        way = "idf" if queries[0].frozen else "learned"
        settings = replace(settings, max_query_tokens=read.longest, queries=way)
    pooling = {"pooling": second.pooling_strategy, "activation": second.activation_function}
    setattr(read.network.config, POOLING, pooling)
    network = SPLADE(read.network, settings)
    if network.head is not None:
        weights = _query_weights(queries[0], read, vocabulary, folder)
        network.head.weight.data = weights.unsqueeze(1)
    return Checkpoint(
        "splade",
        settings,
        tokenizer=read.tokenizer,
        training={"imported": folder.name},
        network={**read.config, POOLING: pooling},
        weights=take_weights(network),
    )


def _query_weights(
    module: Any, read: ReadTransformer, vocabulary: int, folder: ModelFolder
) -> Tensor:
    """Return the weight of each term of a query, (vocabulary,) float32.

    Tokens that the tokenizer adds to every text have none, because sentence-transformers does not
    add them to a query.

    Raises:
        ModelFolderError: the vocabulary of queries is another one, or weights are below 0 or all 0.
    """
    own, weights = own_tokenizer(module.tokenizer, folder.path), torch.zeros(vocabulary)
    if own.get_vocab() != read.tokenizer.get_vocab() or len(module.weight) > vocabulary:
        raise ModelFolderError(
            f"{str(folder.path)!r} has another vocabulary for queries than for documents, which is "
            "not supported"
        )
    weights[: len(module.weight)] = module.weight.detach()
    weights[encode(read.tokenizer, "", special=True).ids] = 0
    if weights.min() < 0 or not weights.any():
        raise ModelFolderError(
            f"{str(folder.path)!r} gives {int((weights < 0).sum()):,} terms of queries a weight "
            f"below 0 and {int((weights > 0).sum()):,} one above 0; none and some are needed"
        )
    return weights


def difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference from sentence-transformers' own weights, over all terms."""
    settings: SPLADESettings = checkpoint.settings

    def encode(role: Role) -> Iterator[NDArray[np.float32]]:
        network = load(checkpoint, attention="eager")
        own = network.queries if role == "query" else network.forward
        limit = getattr(settings, f"max_{role}_tokens")
        for row in token_ids(checkpoint.need_tokenizer(), texts, limit)[0]:
            with torch.inference_mode():
                inputs = feeds([row], ENCODER.segment).values()
                yield own(*map(torch.from_numpy, inputs))[0].numpy()

    original = partial(_original, folder)
    return largest_difference(original, texts, settings, encode, convert_to_sparse_tensor=False)


def _original(folder: ModelFolder) -> Any:
    """Return a folder as a model of sentence-transformers, which reads no `IDF` without modules."""
    theirs = load_original("SparseEncoder", folder.path)
    if folder.modules or not (folder.path / IDF).is_file():
        return theirs
    from sentence_transformers import SparseEncoder
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    place = str(folder.path / IDF)
    queries = SparseStaticEmbedding.from_json(place, theirs.tokenizer, frozen=True)
    router = Router.for_query_document([queries], list(theirs))
    return SparseEncoder(modules=[router], device="cpu").float()
