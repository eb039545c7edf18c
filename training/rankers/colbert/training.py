"""Train ColBERT: late interaction over the token vectors of one encoder.

Sources: Khattab & Zaharia 2020 (arXiv 2004.12832); Hofstätter et al. 2020 (arXiv 2010.02666) for
learning from a cross-encoder.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from string import punctuation
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.progress import EVALUATING, progress
from ranklet.runtime.call.protocol import Role
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.colbert.settings import MASKS, ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.encoder_texts import ENCODED, EncoderTexts, own_scores
from ranklet.training.encoders.text_pairs import Batch, Tokens
from ranklet.training.imported.chain import MODULES, STATES
from ranklet.training.learning.device import full_precision, seeded
from ranklet.training.learning.losses import in_batch_softmax, ranknet_loss
from ranklet.training.learning.weights import load_weights
from ranklet.training.pretrained.backbone import Backbone
from ranklet.training.pretrained.start import load_network, load_start
from ranklet.training.rankers.colbert.network import ColBERTNetwork, max_sim
from ranklet.training.rankers.colbert.options import Options

if TYPE_CHECKING:
    from torch import nn


DENSE = "sentence_transformers.base.modules.Dense"  # the class of a new projection
UNUSED = ("[unused0]", "[unused1]")  # in BERT's vocabularies, for queries and documents
NEW = ("[Q]", "[D]")  # added to a vocabulary without them


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Fine-tune an encoder and a projection; see `EncoderTexts`.

    Raises:
        InputError: as `EncoderTexts`; or the start or the teacher does not fit the options.
        TrainingError: see `fit`.
    """
    if options.teacher is not None:
        options = replace(options, loss="margin-mse")
    backbone, start = load_start(options, "colbert", segments=False)
    layers = _layers(options, backbone.config.hidden_size, start)
    markers = marker_tokens(backbone, start) if options.markers else ("", "")
    masks = [name for name in MASKS if backbone.tokenizer.token_to_id(name) is not None]
    settings = ColBERTSettings(
        *options.limits,
        dimension=layers[-1]["out_features"] if layers else backbone.config.hidden_size,
        similarity=options.similarity,
        query_marker=markers[0],
        document_marker=markers[1],
        expansion=options.expansion,
        expansion_token=(masks or MASKS)[0],
        skipped="" if options.punctuation else " ".join(punctuation),
        special_tokens=options.special_tokens,
    )
    layout = TokenLayout(settings, backbone.tokenizer)
    limits = layout.limit("query"), layout.limit("document")
    texts = EncoderTexts(collection, queries, dev, options, backbone, limits=limits)
    with seeded(options.seed):
        model = ColBERTNetwork(backbone.model, settings, layers)
    if start is not None:
        load_weights(model.after, start.weights, "after.")

    def loss(batch: Batch) -> Tensor:
        of_queries = encode(model, layout, "query", texts.pairs.queries, batch.queries)
        of_documents = encode(model, layout, "document", texts.pairs.documents, batch.documents)
        (query, kept), (document, read) = of_queries, of_documents
        with full_precision(query.device):
            scores = max_sim(query.float(), document.float(), kept, read)
        if options.loss == "pairwise":
            own = own_scores(scores)
            return ranknet_loss(own[:, :1], own[:, 1:])
        return texts.loss(batch, in_batch_softmax, scores)

    evaluate = partial(_pool_ranks, model, layout, texts)
    trained = texts.learn("colbert", settings, model, loss, evaluate)
    return replace(trained, network={**trained.network, MODULES: layers})


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> ColBERTNetwork:
    """Return the network of a checkpoint; see `load_network`."""
    layers = checkpoint.network.get(MODULES, ())
    build = partial(ColBERTNetwork, settings=checkpoint.settings, modules=layers)
    return load_network(checkpoint, "colbert", build, attention, segments=False)


def encode(
    model: ColBERTNetwork,
    layout: TokenLayout,
    role: Role,
    tokens: Tokens,
    numbers: NDArray[np.integer],
) -> tuple[Tensor, Tensor]:
    """Return the vectors of some texts, and which tokens have one.

    Args:
        model: the network.
        layout: adds markers and the expansion.
        role: the role of the texts.
        tokens: the truncated tokens of all texts, without markers and expansion.
        numbers: the numbers of the texts.

    Returns:
        (texts, tokens, dimension) and (texts, tokens) bool.
    """
    rows = [layout.row(tokens.row(number), role) for number in numbers.tolist()]
    device = next(model.parameters()).device
    inputs = [torch.from_numpy(values).to(device) for values in row_feeds(rows).values()]
    kept = torch.zeros(inputs[0].shape, dtype=torch.bool)
    for own, row in zip(kept, rows, strict=True):
        own[row.kept] = True
    return model(*inputs), kept.to(device)


def _layers(options: Options, hidden: int, start: Checkpoint | None) -> list[Mapping[str, Any]]:
    """Return the layers after the encoder: the start's, or a new projection."""
    if start is not None:
        if options.dimension not in (0, start.settings.dimension):
            raise InputError(
                f"the checkpoint to start from has {start.settings.dimension} dimensions and "
                f"training keeps them; give --dimension {start.settings.dimension}"
            )
        return list(start.network.get(MODULES, ()))
    if not options.dimension:
        return []
    plain = {"bias": False, "activation_function": "torch.nn.Identity", "module_input_name": STATES}
    return [{"type": DENSE, "in_features": hidden, "out_features": options.dimension, **plain}]


def _pool_ranks(
    model: ColBERTNetwork, layout: TokenLayout, texts: EncoderTexts
) -> NDArray[np.float64]:
    """Return each query's 1 / rank in the pool by MaxSim, (queries,)."""
    pool = texts.pool
    queries = _vectors(model, layout, "query", pool.queries)
    return pool.max_sim_ranks(queries, _vectors(model, layout, "document", pool.documents))


def _vectors(
    model: ColBERTNetwork, layout: TokenLayout, role: Role, tokens: Tokens
) -> list[NDArray[np.float32]]:
    """Return the vectors of all texts, each (its tokens, dimension) float32."""
    order = np.argsort(tokens.lengths, kind="stable")
    vectors: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(order)
    blocks = [order[begin : begin + ENCODED] for begin in range(0, len(order), ENCODED)]
    for block in progress(blocks, EVALUATING):
        made, kept = encode(model, layout, role, tokens, block)
        for number, own, has in zip(block.tolist(), made.float(), kept, strict=True):
            vectors[number] = own[has].cpu().numpy()
    return vectors


def marker_tokens(backbone: Backbone, start: Checkpoint | None) -> tuple[str, str]:
    """Return the markers of queries and documents; new ones are added to the backbone in place.

    A start keeps its own. A new marker begins as the mean of all embeddings.
    """
    tokenizer = backbone.tokenizer
    before = (start.settings.query_marker, start.settings.document_marker) if start else ("", "")
    for names in (before, UNUSED, NEW):
        if all(names) and all(tokenizer.token_to_id(name) is not None for name in names):
            return names
    model: Any = backbone.model
    tokenizer.add_special_tokens(list(NEW))
    weights: nn.Embedding = model.get_input_embeddings()
    rows, mean = weights.num_embeddings, weights.weight.detach().mean(0)
    size = tokenizer.get_vocab_size()
    if size > rows:
        model.resize_token_embeddings(size, mean_resizing=False)
        with torch.no_grad():
            model.get_input_embeddings().weight[rows:] = mean
    return NEW
