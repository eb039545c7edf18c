"""Import sentence-transformers models and plain encoders as the kind `dense`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.runtime.call.protocol import Role
from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.onnx.encoder import feeds
from ranklet.runtime.rankers.dense import NETWORKS, OUTPUT, OWN_POOLING, DenseSettings
from ranklet.runtime.text.tokenizing import token_ids
from ranklet.training.checkpoint import RANKLET, Checkpoint, read_checkpoint
from ranklet.training.imported.chain import (
    MODULES,
    WITHOUT_EFFECT,
    describe_modules,
    take_modules,
    try_modules,
)
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.original import (
    ReadTransformer,
    class_names,
    largest_difference,
    load_original,
    modules_by_role,
)
from ranklet.training.imported.sentence_settings import (
    Prompts,
    choose_prompts,
    pick_prompts,
    read_dimension,
    read_similarity,
)
from ranklet.training.learning.weights import load_weights, take_weights
from ranklet.training.pretrained.backbone import new_model
from ranklet.training.rankers.dense.network import DenseNetwork
from ranklet.training.rankers.dense.static import STATIC, import_modules, make_table

# sentence-transformers' names of poolings, and ours.
_POOLINGS = {
    "mean": "mean", "cls": "cls", "max": "max", "lasttoken": "last",
    "weightedmean": "weighted_mean", "mean_sqrt_len_tokens": "mean_sqrt",
}  # fmt: skip
POOLING, NORMALIZE = "Pooling", "Normalize"

# The published checkpoints of Zhan et al. 2020 are a BERT that was saved by one of these classes,
# and nothing else in their folder says how it reads: 20 tokens of a query and 256 of a document,
# and [CLS] and [SEP].
REPBERT, REPBERT_LIMITS = "RepBERT", (22, 258)


def import_backbone(folder: Path) -> Checkpoint | None:
    """Return the encoder that a training keeps; None for a checkpoint of another kind.

    Raises:
        ModelFolderError: see `import_model`.
    """
    if not (folder / RANKLET).is_file():
        described = ModelFolder(folder)
        model = load_original("SentenceTransformer", folder)
        return _imported(
            described, modules_by_role(model, folder)[1], choose_prompts(described.prompts)
        )
    checkpoint = read_checkpoint(folder)
    return checkpoint if isinstance(checkpoint.settings, DenseSettings) else None


def import_model(
    folder: ModelFolder,
    *,
    dimension: int | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
) -> Checkpoint:
    """Return a sentence encoder, or a plain encoder, as a checkpoint.

    A plain encoder gets the mean and the cosine, as sentence-transformers reads it.

    Args:
        folder: the model's folder.
        dimension: keep only the first numbers of a vector, for a Matryoshka model.
        query_prompt: the text before every query; None for the folder's.
        document_prompt: the text before every document; None for the folder's.

    Raises:
        ModelFolderError: the folder cannot be used.
        InputError: the vectors are shorter than the dimension.
    """
    prompts = pick_prompts(folder, query_prompt, document_prompt)
    model = load_original("SentenceTransformer", folder.path)
    of_queries, of_documents = modules_by_role(model, folder.path)
    documents = _imported(folder, of_documents, prompts, dimension)
    if of_queries == of_documents:
        return documents
    static = class_names(of_queries)[0] == STATIC
    importing = import_modules if static else _imported
    queries = importing(folder, of_queries, prompts, dimension)
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
    folder: ModelFolder, modules: Sequence[Any], prompts: Prompts, dimension: int | None = None
) -> Checkpoint:
    """Return the encoder that some modules of a folder are; see `import_model`."""
    read = ReadTransformer.of(modules[0], folder.path)
    after = [each for each in modules[1:] if type(each).__name__ != WITHOUT_EFFECT]
    names = class_names(after)
    cosine = names[-1:] == [NORMALIZE]  # vectors get the length 1 after they are cut
    after = after[:-1] if cosine else after
    pooling = OWN_POOLING
    if names[:1] == [POOLING] and (mode := after[0].pooling_mode) in _POOLINGS:
        pooling = _POOLINGS[mode]
    if any(prompts) and not all(getattr(each, "include_prompt", True) for each in after):
        raise ModelFolderError(
            f"{str(folder.path)!r} has a {POOLING} that leaves prompts out, which is not supported"
        )
    described = describe_modules(after[pooling != OWN_POOLING :], folder.path)
    settings = DenseSettings(
        *read.limits,
        pooling=pooling,
        similarity="cosine" if cosine else read_similarity(folder),
        query_prompt=prompts.query,
        document_prompt=prompts.document,
    )
    if not folder.modules and folder.architecture.startswith(REPBERT):
        query, document = (min(read.longest, limit) for limit in REPBERT_LIMITS)
        settings = DenseSettings(query, document, similarity="dot", document_segment=1)
    network = DenseNetwork(read.network, settings, described)
    take_modules(network, after[pooling != OWN_POOLING :])
    hidden = modules[0].get_embedding_dimension()
    pooled = {} if pooling == OWN_POOLING else {OUTPUT: torch.zeros((1, hidden))}
    whole = try_modules(network, folder.path, OUTPUT, **pooled)[1]
    return Checkpoint(
        "dense",
        replace(settings, dimension=read_dimension(folder, dimension, whole)),
        tokenizer=read.tokenizer,
        training={"imported": folder.name},
        network={**read.config, MODULES: described},
        weights=take_weights(network),
    )


def difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference from sentence-transformers' own vectors."""
    settings: DenseSettings = checkpoint.settings

    def encode(role: Role) -> Iterator[NDArray[np.float32]]:
        part = checkpoint.queries or checkpoint if role == "query" else checkpoint
        if not part.weights:  # a table
            prompted = [settings.query_prompt + text for text in texts]
            yield from make_table(part).encode(prompted, settings.max_query_tokens, 0).vectors
            return
        network = DenseNetwork(
            new_model(part.network, "eager", segments=False), part.settings, part.network[MODULES]
        )
        load_weights(network.eval(), part.weights)
        prompt = getattr(settings, f"{role}_prompt")
        limit = getattr(settings, f"max_{role}_tokens")
        for row in token_ids(part.need_tokenizer(), [prompt + text for text in texts], limit)[0]:
            with torch.inference_mode():
                yield network(*map(torch.from_numpy, feeds([row], 0).values()))[0].numpy()

    load = partial(load_original, "SentenceTransformer", folder.path)
    return largest_difference(load, texts, settings, encode)
