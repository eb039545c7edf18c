"""Import static embeddings, one vector per token, of sentence-transformers and model2vec."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.onnx.token_table import TokenTable
from ranklet.runtime.rankers.dense import DenseEncoder, DenseSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import ModelFolder, read_arrays, read_json
from ranklet.training.imported.original import class_names, largest_difference, load_original
from ranklet.training.imported.sentence_settings import (
    Prompts,
    choose_prompts,
    read_dimension,
    read_similarity,
)
from ranklet.training.imported.tokenizer import plain_tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer

TABLE = "table"  # the checkpoint's array, (vocabulary, dimension) float32
MOST_TOKENS = 512  # that model2vec reads
NO_LIMIT = 1 << 20  # of sentence-transformers; the most that the settings allow
STATIC, IGNORED = "StaticEmbedding", ("Dropout",)  # the others do nothing outside of training


def import_model(folder: ModelFolder, *, dimension: int | None = None) -> Checkpoint:
    """Return static embeddings as a checkpoint.

    Args:
        folder: a folder of sentence-transformers with StaticEmbedding, or one of model2vec.
        dimension: keep only the first numbers of a vector.

    Raises:
        ModelFolderError: the folder cannot be used.
    """
    first, *rest = folder.modules or (None,)
    others = [module.name for module in rest if module and module.name not in IGNORED]
    if (first and first.name != STATIC) or others not in ([], ["Normalize"]):
        names = ", ".join(module.name for module in folder.modules)
        raise ModelFolderError(
            f"{str(folder.path)!r} has the modules {names}; static embeddings are supported as "
            "StaticEmbedding, or as StaticEmbedding and Normalize"
        )
    place = first.folder if first else folder.path
    tokenizer, table = plain_tokenizer(place), token_vectors(place, read_arrays(place))
    _check_rows(place, tokenizer, table)
    longest = _longest(place)
    if first is None:
        # model2vec leaves unknown words out and then compares by the cosine, so zeros do the same.
        longest = min(longest, MOST_TOKENS)
        unknown = _unknown(tokenizer)
        if unknown is not None:
            table[unknown] = 0
    kept, prompts = (
        read_dimension(folder, dimension, table.shape[1]),
        choose_prompts(folder.prompts),
    )
    settings = DenseSettings(
        longest,
        longest,
        kept,
        encoder="table",
        similarity="cosine" if others or first is None else read_similarity(folder),
        query_prompt=prompts.query,
        document_prompt=prompts.document,
    )
    return Checkpoint(
        "dense",
        settings,
        arrays={TABLE: np.ascontiguousarray(table[:, :kept])},
        tokenizer=tokenizer,
        training={"imported": folder.name},
    )


def import_modules(
    folder: ModelFolder, modules: Sequence[Any], prompts: Prompts, dimension: int | None
) -> Checkpoint:
    """Return static embeddings that encode one side of a router, as its library has read them.

    Raises:
        ModelFolderError: other modules follow, or the tokenizer has more tokens.
    """
    others = [name for name in class_names(modules)[1:] if name not in IGNORED]
    if others not in ([], ["Normalize"]):
        raise ModelFolderError(
            f"{str(folder.path)!r} encodes queries by {', '.join(class_names(modules))}; supported "
            f"is {STATIC}, alone or with Normalize"
        )
    tokenizer, table = modules[0].tokenizer, modules[0].embedding.weight.detach().numpy()
    longest = int((tokenizer.truncation or {}).get("max_length", NO_LIMIT))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    _check_rows(folder.path, tokenizer, table)
    kept = read_dimension(folder, dimension, table.shape[1])
    similarity = "cosine" if others else read_similarity(folder)
    settings = DenseSettings(
        longest, longest, kept, encoder="table", similarity=similarity, query_prompt=prompts.query
    )
    arrays = {TABLE: np.ascontiguousarray(table[:, :kept])}
    return Checkpoint("dense", settings, arrays=arrays, tokenizer=tokenizer)


def make_table(checkpoint: Checkpoint) -> TokenTable:
    """Return what a checkpoint of static embeddings encodes texts by."""
    normalise = checkpoint.settings.similarity == "cosine"
    return TokenTable(checkpoint.arrays[TABLE], checkpoint.need_tokenizer(), normalise=normalise)


def _check_rows(place: "Path", tokenizer: "Tokenizer", table: NDArray[np.float32]) -> None:
    tokens = tokenizer.get_vocab_size()
    if tokens > len(table):
        raise ModelFolderError(
            f"{str(place)!r} has {len(table):,} vectors for the {tokens:,} tokens of its "
            "tokenizer; the two do not belong together"
        )


def token_vectors(place: "Path", arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    """Return one vector per token, (tokens, dimension) float32.

    model2vec may store fewer vectors, with the number of each token's vector (mapping), and a
    factor per token (weights).

    Raises:
        ModelFolderError: the arrays do not fit each other.
    """
    table = arrays.get("embedding.weight", arrays.get("embeddings"))
    try:
        if table is None or table.ndim != 2:
            raise IndexError("there is no array embedding.weight or embeddings with two axes")
        vectors = table.astype(np.float32)
        if "mapping" in arrays:
            vectors = vectors[arrays["mapping"]]
        if "weights" in arrays:
            vectors = vectors * arrays["weights"].astype(np.float32).reshape(len(vectors), 1)
    except (IndexError, ValueError) as error:
        raise ModelFolderError(f"the weights in {str(place)!r} do not fit: {error}") from None
    return vectors


def difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference from sentence-transformers' own vectors."""
    settings: DenseSettings = checkpoint.settings
    encoder = DenseEncoder(settings, make_table(checkpoint))
    encode = {"query": encoder.encode_queries, "document": encoder.encode_documents}
    load = partial(load_original, "SentenceTransformer", folder.path)
    return largest_difference(
        load if folder.modules else partial(_plain, folder),
        texts,
        settings,
        lambda role: encode[role](list(texts)).vectors,
    )


def _plain(folder: ModelFolder) -> Any:
    """Return static embeddings of model2vec as a model of sentence-transformers."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    place = folder.path
    try:
        table = StaticEmbedding.load(str(place))
    except RuntimeError:  # it takes no table in 8 bits, which model2vec averages as it is
        vectors = token_vectors(place, read_arrays(place))
        table = StaticEmbedding(plain_tokenizer(place), embedding_weights=vectors)
    return SentenceTransformer(modules=[table], device="cpu").float()


def _longest(place: "Path") -> int:
    """Return how many tokens are read, which only the tokenizer's file limits."""
    path = place / "tokenizer.json"
    truncation = read_json(path).get("truncation") if path.is_file() else None
    return int(truncation["max_length"]) if truncation else NO_LIMIT


def _unknown(tokenizer: "Tokenizer") -> int | None:
    """Return the id of the token for unknown words, if there is one."""
    name = getattr(tokenizer.model, "unk_token", None)
    return tokenizer.token_to_id(name) if name else None
