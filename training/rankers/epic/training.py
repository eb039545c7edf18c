"""Train EPIC, which encodes texts as sparse vectors of importance and expansion.

Source: MacAvaney et al. 2020.

EPIC's expansion begins as the prediction head of a masked language model (MacAvaney et al., §3). A
sentence encoder such as MiniLM has none. Then the layer before the predictions begins as the
identity, word embeddings predict, because BERT's prediction matrix is tied to them, and biases are
lowered until most predictions are nearly 0, as those of a trained head are.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.indexing.wordpieces import special_tokens
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.epic import DOCUMENT_ENCODER, QUERY_ENCODER, EPICSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.encoder_texts import EncoderTexts
from ranklet.training.encoders.text_pairs import Batch, Tokens
from ranklet.training.learning.device import seeded
from ranklet.training.learning.losses import in_batch_softmax, listwise_loss
from ranklet.training.learning.weights import load_weights
from ranklet.training.pretrained.backbone import Backbone
from ranklet.training.pretrained.start import begin_sparse, load_network, load_start
from ranklet.training.rankers.epic.network import EPIC, EPICHead
from ranklet.training.rankers.epic.options import Options

# Where the expansion comes from, for people.
PREDICTION, EMBEDDINGS = "the prediction head", "word embeddings, without a prediction head"
FIRST_SHARE = 0.05  # share of the documents that has a term at first, without a prediction head


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Fine-tune an encoder and EPIC's head; see `EncoderTexts`.

    Raises:
        InputError: as for `EncoderTexts`; or the start is not an EPIC of this size.
        TrainingError: see `fit`.
    """
    backbone, start = load_start(options, "epic")
    settings = EPICSettings(*options.limits, backbone.config.vocab_size)
    texts = EncoderTexts(collection, queries, dev, options, backbone)
    with seeded(options.seed):
        model = EPIC(backbone.model, _head(backbone.config, special_tokens(backbone.tokenizer)))
    if start is None:
        origin = begin_expansion(model.head, backbone)
    else:
        load_weights(model.head, start.weights, "head.")
        origin = "the checkpoint to continue from"

    def of_queries(tokens: Tokens, rows: NDArray[np.integer], terms: NDArray[np.int64]) -> Tensor:
        """Return φ_q at terms that include all terms of the queries, (queries, terms)."""
        inputs = texts.inputs(model, QUERY_ENCODER.segment, tokens, rows)
        weights = model.query(*inputs)
        columns = torch.from_numpy(np.searchsorted(terms, inputs[0].cpu().numpy()))
        empty = torch.zeros((len(weights), len(terms)), device=weights.device)
        return empty.scatter_add(1, columns.to(weights.device), weights.float())

    def of_documents(tokens: Tokens, rows: NDArray[np.integer], terms: NDArray[np.int64]) -> Tensor:
        """Return φ_d at some terms, (documents, terms)."""
        columns = torch.from_numpy(terms).to(model.head.is_term.device)
        inputs = texts.inputs(model, DOCUMENT_ENCODER.segment, tokens, rows)
        return model.document(*inputs, columns).float()

    def logits(tokens: Tokens, rows: NDArray[np.integer]) -> Tensor:
        """Return the largest prediction of each term in some documents, (documents, vocabulary)."""
        return model.predictions(*texts.inputs(model, DOCUMENT_ENCODER.segment, tokens, rows))

    if origin == EMBEDDINGS:
        begin_sparse(model.head.expansion.bias, texts.sample(logits), FIRST_SHARE)

    def loss(batch: Batch) -> Tensor:
        pairs = texts.pairs
        terms = np.unique(pairs.queries.padded(batch.queries, texts.padding)[0])
        query_vectors = of_queries(pairs.queries, batch.queries, terms)
        vectors = of_documents(pairs.documents, batch.documents, terms)
        compare = _of_pairs if options.pairwise else in_batch_softmax
        return texts.in_batch(batch, compare, query_vectors, vectors)

    def evaluate() -> NDArray[np.float64]:
        terms = np.unique(np.append(texts.pool.queries.ids, texts.padding))
        return texts.pool_ranks(
            partial(of_queries, terms=terms), partial(of_documents, terms=terms)
        )

    return texts.learn(
        "epic", settings, model, loss, evaluate,
        label=f"training (expansion starts from {origin})", expansion=origin,
    )  # fmt: skip


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> EPIC:
    """Return the network of a checkpoint; see `load_network`."""

    def build(encoder: Any) -> EPIC:
        return EPIC(encoder, _head(encoder.config, special_tokens(checkpoint.need_tokenizer())))

    return load_network(checkpoint, "epic", build, attention)


def _of_pairs(scores: Tensor, relevant: Tensor) -> Tensor:  # noqa: ARG001
    """Return the loss of each query's document against its one negative (MacAvaney et al., §3)."""
    negatives = scores[:, len(scores) :]
    return listwise_loss(torch.stack([scores.diagonal(), negatives.diagonal()], dim=1), 1.0)


def _head(config: Any, special: Sequence[int]) -> EPICHead:
    return EPICHead(config.hidden_size, config.vocab_size, special)


def begin_expansion(head: EPICHead, backbone: Backbone) -> str:
    """Let the expansion begin as a prediction head; return where it comes from, for people.

    Raises:
        InputError: the encoder's embeddings have another size than its vectors, and it has no
            projection between them.
    """
    hidden = backbone.config.hidden_size
    layer, norm = head.dense, head.norm
    nn.init.eye_(layer.weight)
    nn.init.zeros_(layer.bias)
    nn.init.zeros_(head.expansion.bias)
    found = backbone.predictions
    matrix = found.get("decoder.weight", backbone.word_vectors())
    predicts = bool(found) and matrix.shape[1] == hidden  # MobileBERT's is narrower
    with torch.no_grad():
        head.expansion.weight.copy_(torch.tensor(matrix if predicts else _embeddings(backbone)))
        if predicts:
            for name, own in (
                ("transform.dense.weight", layer.weight),
                ("transform.dense.bias", layer.bias),
                ("transform.LayerNorm.weight", norm.weight),
                ("transform.LayerNorm.bias", norm.bias),
                ("bias", head.expansion.bias),
            ):
                if name in found:
                    own.copy_(torch.from_numpy(found[name]))
    return PREDICTION if predicts else EMBEDDINGS


def _embeddings(backbone: Backbone) -> NDArray[np.float32]:
    """Return the word embeddings at the size of the encoder's vectors, (vocabulary, hidden)."""
    hidden = backbone.config.hidden_size
    embeddings = np.array(backbone.word_vectors(), np.float32)
    if embeddings.shape[1] == hidden:
        return embeddings
    project: Any = getattr(backbone.model, "embeddings_project", None)  # ELECTRA's
    if project is None:
        raise InputError(
            f"{backbone.source!r} has embeddings of {embeddings.shape[1]} and vectors of {hidden} "
            "dimensions, so the expansion cannot be initialised; use another backbone"
        )
    weight: NDArray[np.float32] = project.weight.detach().numpy()  # (hidden, embedding)
    return np.asarray(embeddings @ weight.T, np.float32)
