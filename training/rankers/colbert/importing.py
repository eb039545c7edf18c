"""Import late-interaction models of PyLate, sentence-transformers and colbert-ir's ColBERT."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.runtime.call.protocol import Role
from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.colbert.settings import MASKS, MOST_TOKENS, ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.chain import (
    MODULES,
    STATES,
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
)
from ranklet.training.imported.sentence_settings import choose_prompts
from ranklet.training.learning.weights import take_weights
from ranklet.training.rankers.colbert.network import ColBERTNetwork
from ranklet.training.rankers.colbert.training import load

TRANSFORMER, DENSE, MASK, NORMALIZE = "Transformer", "Dense", "MultiVectorMask", "Normalize"


def import_model(folder: ModelFolder) -> Checkpoint:
    """Return a late-interaction model as a checkpoint.

    sentence-transformers makes its own modules of the folders of PyLate and colbert-ir, and puts
    their markers before texts, as prompts.

    Raises:
        ModelFolderError: the folder cannot be used.
    """
    model = load_original("MultiVectorEncoder", folder.path)
    names, first = class_names(model), model[0]
    own = [name for name in names if name != MASK]
    heads = [module for module in model if type(module).__name__ == DENSE]
    plain = [TRANSFORMER, *[DENSE] * len(heads)]
    if own not in (plain, [*plain, NORMALIZE]) or model.similarity_fn_name == "meanmaxsim":
        raise ModelFolderError(
            f"{str(folder.path)!r} has the modules {', '.join(names)} and scores by "
            f"{model.similarity_fn_name}; supported are {TRANSFORMER}, {DENSE}, {MASK} and "
            f"{NORMALIZE}, in this order, and maxsim"
        )
    read = ReadTransformer.of(first, folder.path, MOST_TOKENS)
    expansion, (query, document) = first.query_expansion or {}, read.limits
    if expansion.get("strategy", "fixed") != "fixed":
        raise ModelFolderError(
            f"{str(folder.path)!r} expands queries by {expansion['strategy']!r}; supported is fixed"
        )
    prompts = choose_prompts(model.prompts)
    settings = ColBERTSettings(
        min(expansion.get("length") or query, read.longest),
        document,
        dimension=heads[-1].out_features if heads else first.get_embedding_dimension(),
        similarity="cosine" if NORMALIZE in names else "dot",
        query_prompt=prompts.query,
        document_prompt=prompts.document,
        expansion=("attended" if expansion["attend"] else "unattended") if expansion else "none",
        expansion_token=expansion.get("token")
        or first.tokenizer.mask_token
        or first.tokenizer.eos_token
        or MASKS[0],
        skipped=_skipped(folder, model[names.index(MASK)] if MASK in names else None, read),
    )
    described = describe_modules(heads, folder.path)
    network = ColBERTNetwork(read.network, settings, described)
    take_modules(network, heads)
    try_modules(network, folder.path, STATES)
    return Checkpoint(
        "colbert",
        settings,
        tokenizer=read.tokenizer,
        training={"imported": folder.name},
        network={**read.config, MODULES: described},
        weights=take_weights(network),
    )


def _skipped(folder: ModelFolder, mask: Any, read: ReadTransformer) -> str:
    """Return the tokens that documents have no vectors of, as the tokenizer spells them."""
    if mask is None:
        return ""
    known = [word for word in mask.skiplist_words if read.tokenizer.token_to_id(word) is not None]
    spaced = [word for word in known if word.split() != [word]]
    if mask.keep_only_token_ids or spaced or (known and mask.skiplist_tasks != ["document"]):
        raise ModelFolderError(
            f"{str(folder.path)!r} leaves out tokens in another way than documents' skiplist_words "
            f"without spaces ({MASK}), which is not supported"
        )
    return " ".join(known)


def difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference from sentence-transformers' vectors, over all tokens."""

    def encode(role: Role) -> Iterator[NDArray[np.float32]]:
        network = load(checkpoint, attention="eager")
        layout = TokenLayout(checkpoint.settings, checkpoint.need_tokenizer())
        for row in layout.rows(texts, role)[0]:
            with torch.inference_mode():
                inputs = map(torch.from_numpy, row_feeds([row]).values())
                yield network(*inputs)[0][row.kept].numpy()

    original = partial(load_original, "MultiVectorEncoder", folder.path)
    return largest_difference(original, texts, checkpoint.settings, encode)
