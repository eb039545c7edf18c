"""Import SPLADE models of sentence-transformers and transformers, and inference-free ones."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.runtime.errors import ModelFolderError
from ranklet.runtime.onnx.encoder import feeds
from ranklet.runtime.rankers.splade import ENCODER, SPLADESettings
from ranklet.runtime.text.tokenizing import encode, token_ids
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.encoder import load_network
from ranklet.training.imported.folder import (
    SENTENCE,
    WEIGHTS,
    ModelFolder,
    Module,
    read_json,
    read_weights,
)
from ranklet.training.imported.original import load_original
from ranklet.training.imported.routes import modules_by_role, same
from ranklet.training.imported.sentence_settings import (
    encode_with_library,
    prompt_names,
    prompts_of,
)
from ranklet.training.imported.tokenizer import model_tokenizer, text_limits, transformer_settings
from ranklet.training.learning.weights import weights_of
from ranklet.training.rankers.splade.forms import IDF
from ranklet.training.rankers.splade.network import POOLING, SPLADE, SPLADE_V2, check_pooling
from ranklet.training.rankers.splade.training import load

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TRANSFORMERS = ("Transformer", "MLMTransformer")
QUERY_WEIGHTS = ("SparseStaticEmbedding", "IDF")  # newer and older name of one module
# The weights of `IDF` for OpenSearch, which weighs the tokens that this file leaves out, too.
OPENSEARCH = "query_token_weights.txt"
MOST_TOKENS = 8192  # limit of the settings


class SparseModel(NamedTuple):
    """The parts of a sparse encoder's folder."""

    transformer: Path  # folder of the masked language model
    pooling: dict[str, str]  # see `ranklet.training.rankers.splade.network.POOLING`
    queries: Module | None = None  # weights of query terms; None if the network encodes queries


def describe(folder: ModelFolder) -> SparseModel:
    """Return the parts of a sparse encoder.

    A folder without modules is a plain SPLADE v2. If it has weights of query terms, then no network
    encodes queries (arXiv 2411.04403).

    Raises:
        ModelFolderError: a module or a setting is not supported.
    """
    prompts = dict(zip(prompt_names(folder), prompts_of(folder), strict=True))
    if any(prompts.values()):
        named = ", ".join(sorted(name for name, text in prompts.items() if text))
        raise ModelFolderError(
            f"{str(folder.path)!r} puts texts before queries or documents (the prompts {named}), "
            "which is not supported for a sparse encoder"
        )
    similarity = folder.sentence.get("similarity_fn_name") or "dot"
    if similarity not in ("dot", "dot_product"):
        raise ModelFolderError(
            f"{str(folder.path)!r} compares vectors by {similarity!r}; supported for a sparse "
            "encoder is dot"
        )
    if most := folder.sentence.get("max_active_dims"):
        raise ModelFolderError(
            f"{str(folder.path)!r} keeps {most} terms of each text (max_active_dims), which is not "
            f"supported; remove that from {SENTENCE}, and give --prune for documents"
        )
    if not folder.modules:
        plain = SparseModel(folder.path, dict(SPLADE_V2))
        if (folder.path / IDF).is_file():
            return plain._replace(queries=Module(QUERY_WEIGHTS[0], folder.path, {"frozen": True}))
        if (folder.path / OPENSEARCH).is_file():
            raise ModelFolderError(
                f"{str(folder.path)!r} has weights of query terms in {OPENSEARCH}, which does not "
                f"have all of them; fetch {IDF} of the same model, too"
            )
        return plain
    queries, documents = modules_by_role(folder)
    if same(queries, documents):
        return _network(folder, documents)
    if [module.name in QUERY_WEIGHTS for module in queries] == [True]:
        return _network(folder, documents)._replace(queries=queries[0])
    raise ModelFolderError(
        f"{str(folder.path)!r} encodes queries by {_names(queries)}; supported are "
        f"{QUERY_WEIGHTS[0]}, or the modules of documents"
    )


def _network(folder: ModelFolder, modules: Sequence[Module]) -> SparseModel:
    if [module.name for module in modules[1:]] != ["SpladePooling"] or (
        modules[0].name not in TRANSFORMERS
    ):
        raise ModelFolderError(
            f"{str(folder.path)!r} encodes documents by {_names(modules)}; supported are "
            "Transformer or MLMTransformer, then SpladePooling"
        )
    config = modules[1].config
    pooling = {
        "pooling": str(config.get("pooling_strategy", SPLADE_V2["pooling"])),
        "activation": str(config.get("activation_function", SPLADE_V2["activation"])),
    }
    check_pooling(**pooling)
    return SparseModel(modules[0].folder, pooling)


def _names(modules: Sequence[Module]) -> str:
    return ", ".join(module.name for module in modules) or "no module"


def import_model(folder: ModelFolder) -> Checkpoint:
    """Return a sparse encoder as a checkpoint.

    Raises:
        ModelFolderError: the folder cannot be used.
    """
    described = describe(folder)
    place = described.transformer
    encoder, config = load_network(place, "AutoModelForMaskedLM", transformer_settings(place))
    own = model_tokenizer(place)
    tokenizer, longest = own.tokenizer, min(own.longest_text(encoder), MOST_TOKENS)
    vocabulary = int(config["vocab_size"])
    query, document = (
        min(limit or longest, longest) for limit in text_limits(transformer_settings(place))
    )
    settings = SPLADESettings(query, document, vocabulary, field="")
    if described.queries is not None:
        way = "idf" if described.queries.config.get("frozen") else "learned"
        settings = replace(settings, max_query_tokens=longest, queries=way)
    setattr(encoder.config, POOLING, described.pooling)
    network = SPLADE(encoder, settings)
    if network.head is not None and described.queries is not None:
        weights = _query_weights(described, described.queries, tokenizer, vocabulary)
        with torch.no_grad():
            network.head.weight.copy_(torch.from_numpy(weights).unsqueeze(1))
    return Checkpoint(
        "splade",
        settings,
        tokenizer=tokenizer,
        training={"imported": folder.name},
        network={**config, POOLING: described.pooling},
        weights=weights_of(network),
    )


def _query_weights(
    model: SparseModel, module: Module, tokenizer: "Tokenizer", vocabulary: int
) -> NDArray[np.float32]:
    """Return the weight of each term of a query, (vocabulary,) float32.

    Tokens that the tokenizer adds to every text have none, because sentence-transformers does not
    add them to a query.

    Raises:
        ModelFolderError: weights are missing, of another shape, or below 0, or the vocabulary of
            queries differs from the one of documents.
    """
    own = model_tokenizer(module.folder).tokenizer
    if own.get_vocab() != tokenizer.get_vocab():
        raise ModelFolderError(
            f"{str(module.folder)!r} has another vocabulary than the encoder of documents, which "
            "is not supported"
        )
    weights = np.zeros(vocabulary, np.float32)
    beside = module.folder == model.transformer  # whose own weights are in that folder
    if (module.folder / IDF).is_file() and (beside or not (module.folder / WEIGHTS).is_file()):
        for token, weight in read_json(module.folder / IDF).items():
            number = tokenizer.token_to_id(token)
            if number is not None:
                weights[number] = weight
    else:
        stored = read_weights(module.folder).get("weight")
        if stored is None or stored.ndim != 1 or len(stored) > vocabulary:
            raise ModelFolderError(
                f"{str(module.folder)!r} has no weight for each of {vocabulary:,} terms; its "
                "weights do not fit the encoder of documents"
            )
        weights[: len(stored)] = stored.numpy()
    if weights.min() < 0:
        raise ModelFolderError(
            f"{str(module.folder)!r} gives {int((weights < 0).sum()):,} terms of queries a weight "
            "below 0, which cannot be searched"
        )
    weights[encode(tokenizer, "", special=True).ids] = 0
    if not weights.any():
        raise ModelFolderError(
            f"{str(module.folder)!r} gives no term of a query a weight; its weights do not belong "
            "to its tokenizer"
        )
    return weights


def largest_difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference from sentence-transformers' own weights, over all terms.

    Texts are encoded as queries and as documents.
    """
    theirs = _original(folder)
    encoded = encode_with_library(theirs, folder, texts, convert_to_sparse_tensor=False)
    del theirs  # two networks need not be in memory
    network, differences = load(checkpoint, attention="eager"), []
    limits = checkpoint.settings.max_query_tokens, checkpoint.settings.max_document_tokens
    for ours, expected, limit in zip(
        (network.queries, network.forward), encoded, limits, strict=True
    ):
        ids, _ = token_ids(checkpoint.need_tokenizer(), texts, limit)
        with torch.inference_mode():
            for row, vector in zip(ids, expected, strict=True):
                inputs = feeds([row], ENCODER.segment).values()
                weights = ours(*map(torch.from_numpy, inputs))[0].numpy()
                other = np.asarray(vector, np.float32)
                differences.append(np.abs(weights[: len(other)] - other).max())
    return float(max(differences))


def _original(folder: ModelFolder) -> Any:
    """Return a folder as a model of sentence-transformers, which reads no `IDF` without modules."""
    theirs = load_original("SparseEncoder", folder.path)
    if folder.modules or not (folder.path / IDF).is_file():
        return theirs
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sentence_transformer.modules import Router
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    place = folder.path / IDF
    queries = SparseStaticEmbedding.from_json(str(place), theirs.tokenizer, frozen=True)
    router = Router.for_query_document([queries], list(theirs))
    return SparseEncoder(modules=[router], device="cpu").float()
