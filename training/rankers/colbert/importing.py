"""Import late-interaction models of PyLate, sentence-transformers and colbert-ir's ColBERT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from string import punctuation
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ranklet.runtime.call.protocol import Role
from ranklet.runtime.errors import ModelFolderError
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.colbert.settings import MASKS, MOST_TOKENS, ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.encoder import load_network, state_size
from ranklet.training.imported.folder import CONFIG, METADATA, ModelFolder, Module, read_weights
from ranklet.training.imported.layers import linear_layer, load_layer
from ranklet.training.imported.original import load_original
from ranklet.training.imported.sentence_settings import encode_with_library, prompts_of
from ranklet.training.imported.tokenizer import model_tokenizer, text_limits, transformer_settings
from ranklet.training.learning.weights import weights_of
from ranklet.training.rankers.colbert.network import LAYERS, ColBERTNetwork
from ranklet.training.rankers.colbert.training import load

if TYPE_CHECKING:
    from tokenizers import Tokenizer

QUERY_TOKENS, DOCUMENT_TOKENS = 32, 180  # PyLate's limits, if a folder does not have any
MASK, NORMALIZE, DENSE = "MultiVectorMask", "Normalize", "Dense"
_PLAIN = {"bias": False, "activation": "identity", "residual": False}


@dataclass(frozen=True)
class LateInteraction:
    """What a folder says beyond its transformer.

    Attributes:
        layers: descriptions of the layers over each token; see `TokenLayer`.
        weights: the weights of each layer.
        cosine: whether vectors are normalised.
        limits: tokens of a query and of a document; 0 for as many as the network reads.
        markers: tokens that are put after [CLS] of a query and of a document.
        expansion: what fills up queries, as in `ColBERTSettings`.
        expansion_token: the token that fills them up; None for the tokenizer's mask.
        skipped: tokens of documents without a vector.
    """

    layers: tuple[Mapping[str, Any], ...] = ()
    weights: tuple[Mapping[str, Tensor], ...] = ()
    cosine: bool = True
    limits: tuple[int, int] = (0, 0)
    markers: tuple[str, str] = ("", "")
    expansion: str = "none"
    expansion_token: str | None = None
    skipped: Sequence[str] = field(default=tuple(punctuation))


def describe(folder: ModelFolder) -> LateInteraction:
    """Return what the folder of a model of any of the three libraries says.

    Raises:
        ModelFolderError: a module or a setting is not supported.
    """
    if not folder.modules:
        return _of_colbert_ir(folder)
    first, *rest = folder.modules
    dense = [module for module in rest if module.name == DENSE]
    others = [module.name for module in rest if module.name != DENSE]
    after = rest[rest.index(dense[-1]) + 1 :] if dense else rest
    normalises_last = NORMALIZE not in others or NORMALIZE in [each.name for each in after]
    if first.name != "Transformer" or set(others) - {MASK, NORMALIZE} or not normalises_last:
        names = ", ".join(module.name for module in folder.modules)
        raise ModelFolderError(
            f"{str(folder.path)!r} has the modules {names}; supported are Transformer, {DENSE}, "
            f"{MASK} and {NORMALIZE}, in this order"
        )
    similarity = folder.sentence.get("similarity_fn_name")
    if similarity == "meanmaxsim":
        raise ModelFolderError(
            f"{str(folder.path)!r} scores by the mean of the best matches (meanmaxsim), which is "
            "not supported; it orders the documents of a query as maxsim does"
        )
    layers = tuple(map(_layer, dense))
    weights = tuple(read_weights(module.folder) for module in dense)
    if folder.sentence.get("model_type") == "ColBERT":
        return _of_pylate(folder, layers, weights)
    return _of_modules(folder, layers, weights)


def _of_pylate(
    folder: ModelFolder,
    layers: tuple[Mapping[str, Any], ...],
    weights: tuple[Mapping[str, Tensor], ...],
) -> LateInteraction:
    said = folder.sentence
    words = said.get("skiplist_words")
    return LateInteraction(
        layers,
        weights,
        limits=(
            said.get("query_length") or QUERY_TOKENS,
            said.get("document_length") or DOCUMENT_TOKENS,
        ),
        markers=(said.get("query_prefix") or "", said.get("document_prefix") or ""),
        expansion=_expansion(
            said.get("do_query_expansion") is not False, said.get("attend_to_expansion_tokens")
        ),
        skipped=tuple(punctuation) if words is None else tuple(words),
    )


def _of_modules(
    folder: ModelFolder,
    layers: tuple[Mapping[str, Any], ...],
    weights: tuple[Mapping[str, Tensor], ...],
) -> LateInteraction:
    place = folder.modules[0].folder
    settings = transformer_settings(place)
    mask: Mapping[str, Any] = next(
        (module.config for module in folder.modules if module.name == MASK), {}
    )
    words = tuple(mask.get("skiplist_words") or ())
    if mask.get("keep_only_token_ids") or (words and mask.get("skiplist_tasks") != ["document"]):
        raise ModelFolderError(
            f"{str(folder.path)!r} leaves out tokens in another way than documents' skiplist_words "
            f"({MASK}), which is not supported"
        )
    expansion = settings.get("query_expansion") or {}
    if expansion and expansion.get("strategy") != "fixed":
        raise ModelFolderError(
            f"{str(place)!r} expands queries by {expansion.get('strategy')!r}; supported is fixed"
        )
    query, document = text_limits(settings)
    return LateInteraction(
        layers,
        weights,
        cosine=NORMALIZE in [module.name for module in folder.modules],
        limits=(expansion.get("length") or query, document),
        expansion=_expansion(bool(expansion), expansion.get("attend")),
        expansion_token=expansion.get("token"),
        skipped=words,
    )


def _of_colbert_ir(folder: ModelFolder) -> LateInteraction:
    said = folder.json(METADATA) if (folder.path / METADATA).is_file() else {}
    if said.get("similarity", "cosine") != "cosine":
        raise ModelFolderError(
            f"{str(folder.path / METADATA)!r} has the similarity {said['similarity']!r}; supported "
            "is cosine"
        )
    linear = read_weights(folder.path).get("linear.weight")
    if linear is None or linear.dim() != 2:
        raise ModelFolderError(f"{str(folder.path)!r} has no linear.weight, so it is no ColBERT")
    out, size = linear.shape
    return LateInteraction(
        ({"in": size, "out": out, **_PLAIN},),
        ({"linear.weight": linear},),
        limits=(said.get("query_maxlen") or QUERY_TOKENS, said.get("doc_maxlen") or 0),
        markers=(
            said.get("query_token_id") or "[unused0]",
            said.get("doc_token_id") or "[unused1]",
        ),
        expansion=_expansion(True, said.get("attend_to_mask_tokens")),
        skipped=tuple(punctuation) if said.get("mask_punctuation", True) else (),
    )


def _expansion(expands: bool, attends: Any) -> str:
    return ("attended" if attends else "unattended") if expands else "none"


def import_model(folder: ModelFolder) -> Checkpoint:
    """Return a late-interaction model as a checkpoint.

    Raises:
        ModelFolderError: the folder cannot be used.
    """
    described = describe(folder)
    place = folder.modules[0].folder if folder.modules else folder.path
    encoder, config = load_network(place, "AutoModel", transformer_settings(place))
    own = model_tokenizer(place)
    tokenizer, longest = own.tokenizer, min(own.longest_text(encoder), MOST_TOKENS)
    query_tokens, document_tokens = (min(limit or longest, longest) for limit in described.limits)
    markers = [_marker(folder, tokenizer, marker) for marker in described.markers]
    prompts = prompts_of(folder)
    settings = ColBERTSettings(
        query_tokens,
        document_tokens,
        dimension=described.layers[-1]["out"] if described.layers else state_size(encoder),
        similarity="cosine" if described.cosine else "dot",
        query_prompt=prompts.query,
        document_prompt=prompts.document,
        query_marker=markers[0],
        document_marker=markers[1],
        expansion=described.expansion,
        expansion_token=_expansion_token(folder, tokenizer, described),
        skipped=_skipped(folder, tokenizer, described.skipped),
    )
    network = ColBERTNetwork(encoder, settings, described.layers)
    for layer, weights in zip(network.head, described.weights, strict=True):
        load_layer(layer, weights, folder.path)
    return Checkpoint(
        "colbert",
        settings,
        tokenizer=tokenizer,
        training={"imported": folder.name},
        network={**config, LAYERS: list(described.layers)},
        weights=weights_of(network),
    )


def _marker(folder: ModelFolder, tokenizer: "Tokenizer", marker: str) -> str:
    """Return a marker as the tokenizer spells it; some end in a space.

    Raises:
        ModelFolderError: the tokenizer does not have it as one token.
    """
    for spelling in (marker, marker.strip()):
        if not spelling or tokenizer.token_to_id(spelling) is not None:
            return spelling
    raise ModelFolderError(
        f"{str(folder.path)!r} marks texts by {marker!r}, which is no token of its tokenizer; save "
        "the model again with its own library"
    )


def _expansion_token(
    folder: ModelFolder, tokenizer: "Tokenizer", described: LateInteraction
) -> str:
    names = MASKS if described.expansion_token is None else (described.expansion_token,)
    found = [name for name in names if tokenizer.token_to_id(name) is not None]
    if not found and described.expansion != "none":
        raise ModelFolderError(
            f"{str(folder.path)!r} expands queries, but its tokenizer has no {' or '.join(names)}"
        )
    return found[0] if found else MASKS[0]


def _skipped(folder: ModelFolder, tokenizer: "Tokenizer", words: Sequence[str]) -> str:
    """Return the skipped tokens that the tokenizer has, separated by spaces."""
    known = [word for word in words if tokenizer.token_to_id(word) is not None]
    spaced = [word for word in known if word.split() != [word]]
    if spaced:
        raise ModelFolderError(
            f"{str(folder.path)!r} skips the token {spaced[0]!r}, which contains a space; this is "
            "not supported"
        )
    return " ".join(known)


def _layer(module: Module) -> Mapping[str, Any]:
    """Return the description of a layer over each token; see `TokenLayer`."""
    reads = module.config.get("module_input_name", "token_embeddings")
    if reads != "token_embeddings":
        raise ModelFolderError(
            f"{str(module.folder / CONFIG)!r}: a layer over {reads} is not supported; supported "
            "are layers over token_embeddings"
        )
    residual = bool(module.config.get("use_residual", False))
    return {**linear_layer(module, "Identity"), "residual": residual}


def largest_difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference from sentence-transformers' vectors, over all numbers.

    Texts are encoded as queries and as documents. If a text has another number of vectors, the
    difference is infinite.
    """
    theirs = load_original("MultiVectorEncoder", folder.path)
    encoded = encode_with_library(theirs, folder, texts)
    del theirs  # two networks need not be in memory
    network = load(checkpoint, attention="eager")
    layout = TokenLayout(checkpoint.settings, checkpoint.need_tokenizer())
    roles: tuple[Role, Role] = ("query", "document")
    differences = [0.0]
    for role, expected in zip(roles, encoded, strict=True):
        rows, _ = layout.rows(texts, role)
        for row, other in zip(rows, expected, strict=True):
            with torch.inference_mode():
                inputs = map(torch.from_numpy, row_feeds([row]).values())
                ours = network(*inputs)[0][row.kept]
            vectors = torch.as_tensor(other)
            if vectors.shape != ours.shape:
                return inf
            if len(ours):
                differences.append(float((ours - vectors).abs().max()))
    return max(differences)
