"""Train a context-free neural Model 1, in which a network computes T(q|d).

Source: Boytsov & Kolter 2021, §3.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.probes import draw_probes
from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.indexing.ragged import packed, padded, rounded, unique_tokens
from ranklet.corpus.indexing.translation_tables import background
from ranklet.corpus.indexing.wordpieces import padding_token, read_tokenizer, special_tokens
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.neural_model1 import NeuralModel1Settings
from ranklet.runtime.storage.forward import Forward
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.distilling.margins import read_margins
from ranklet.training.distilling.taught import TaughtQueries, pools, read_taught
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.losses import SHARPNESS, listwise_loss, margin_loss
from ranklet.training.learning.weights import check_kind, load_trained, take_weights
from ranklet.training.outcome import Lists, counts
from ranklet.training.pretrained.backbone import load_backbone, wheel_folder
from ranklet.training.rankers.model1.constants import (
    DEV_CANDIDATES,
    Likelihoods,
    bm25_value,
    evaluate_fusion,
    tune_constants,
)
from ranklet.training.rankers.neural_model1.network import Network, NeuralModel1
from ranklet.training.rankers.neural_model1.options import Options, PairOptions
from ranklet.training.rankers.neural_model1.sparsify import tables
from ranklet.training.sampling.batches import Batch, draw_documents, query_batches

if TYPE_CHECKING:
    from tokenizers import Tokenizer


FIELD = "wordpieces"
DEV_QUERIES = 200  # evaluated after each epoch

# Batches are padded to these, so that they come in few shapes; see `rounded`.
QUERY_TOKENS_MULTIPLE, TOKENS_MULTIPLE = 4, 64


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Learn T(q|d) from pairs of a relevant and another document, then choose p_self and λ.

    The best weights are those that rank some of `dev` best; the constants are chosen on all of it.
    The checkpoint has the weights, which export sparsifies, and ``seen``, the word pieces of the
    collection and the queries, (tokens,) int32, because nothing was learned of other tokens.

    Raises:
        InputError: an option is not allowed, or no query has a relevant document.
        TrainingError: see `fit`.
    """
    tokenizer, embeddings = _begin(options)
    special, padding = special_tokens(tokenizer), padding_token(tokenizer)
    analysed = analyse(
        collection.documents(), [FIELD, options.bm25.field],
        tokenizer=tokenizer, titles=options.titles,
    )  # fmt: skip
    prior = background(analysed.frequencies(FIELD))
    retriever = analysed.bm25(options.bm25)
    taught_queries = read_taught(options, collection, queries)
    margins = read_margins(taught_queries, options)
    pairs = Pairs(analysed, queries, retriever, options, padding, taught_queries)
    network = Network(
        tokenizer.get_vocab_size(), padding, special, options.vector, options.hidden,
        options.parametrisation,
    )  # fmt: skip
    with seeded(options.seed):
        model = NeuralModel1(network, prior)
        if embeddings is not None:
            start_from(model, embeddings)

    def loss(batch: Batch) -> Tensor:
        device = model.background.device
        query_ids, token_ids, shares = (
            torch.as_tensor(array, device=device) for array in pairs.arrays(batch)
        )
        lengths = query_ids.ne(padding).sum(1, keepdim=True).clamp(min=1)
        likelihoods = model.log_likelihoods(query_ids, token_ids, shares)
        scores = likelihoods / lengths  # (batch, 1 + negatives)
        if margins is not None:
            return margins.loss(batch.queries, batch.documents, SHARPNESS * scores)
        if options.objective == "margin":
            return margin_loss(scores[:, :1], scores[:, 1:], options.margin)
        return listwise_loss(scores)

    drawn = np.random.default_rng(options.seed).permutation(len(dev))
    drawn = drawn[: options.shorten(DEV_QUERIES)]
    dev_queries = [dev[at] for at in drawn]
    in_training = Likelihoods(tables(model), prior, FIELD, [(network.p_self, network.lambda_)])

    def evaluate() -> NDArray[np.float64]:
        return evaluate_fusion(analysed, dev_queries, retriever, in_training, options.measure)

    lists = Lists(
        f"{options.measure} of BM25's top {DEV_CANDIDATES}, fused with BM25",
        len(dev_queries),
        bm25_value(analysed, dev_queries, retriever, options.measure),
    )
    learned = learn(
        model, pairs.batches, loss, options, evaluate, lists,
        made_of=margins.made_of if margins else None,
    )  # fmt: skip
    likelihoods = Likelihoods(tables(model), prior, FIELD)
    tuned = tune_constants(analysed, dev, retriever, likelihoods, options.measure)
    return Checkpoint(
        "neural_model1",
        NeuralModel1Settings(FIELD, tuned.p_self, tuned.lambda_, padding=padding),
        {"seen": pairs.seen()},
        tokenizer=tokenizer,
        network={"architectures": ["NeuralModel1"], **asdict(network)},
        weights=take_weights(model),
        training={
            **counts(len(analysed.documents), queries, dev),
            **learned.report,
            **tuned.report,
        },
        curve=learned.curve,
        probes=draw_probes(analysed.listed(), dev, titles=options.titles),
    )


def _begin(options: Options) -> "tuple[Tokenizer, NDArray[np.float32] | None]":
    """Return the tokenizer, and the first word vectors; None for random ones."""
    if options.embeddings == "backbone" or (options.backbone and not options.tokenizer):
        backbone = load_backbone(options.backbone, segments=False)
        if options.embeddings != "backbone":
            return backbone.tokenizer, None
        # Many models have some more rows than word pieces, such as a multiple of 64.
        return backbone.tokenizer, backbone.word_vectors()[: backbone.tokenizer.get_vocab_size()]
    return read_tokenizer(options.tokenizer or wheel_folder()), None


def start_from(model: NeuralModel1, embeddings: NDArray[np.float32]) -> None:
    """Initialise both tables with word vectors, projected on their principal axes.

    Args:
        model: a network of the same vocabulary and of no larger vectors.
        embeddings: word vectors, (vocabulary, any) float32.

    Raises:
        InputError: the word vectors are of another vocabulary or have too few dimensions.
    """
    vocabulary, dimension = model.network.vocabulary, model.network.vector
    if len(embeddings) != vocabulary or embeddings.shape[1] < dimension:
        raise InputError(
            f"the word vectors are {embeddings.shape}; they must be for {vocabulary} word pieces "
            f"and have at least {dimension} dimensions"
        )
    centred = embeddings - embeddings.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)  # ascending
    vectors = centred @ axes[:, -dimension:]
    values = torch.from_numpy(np.asarray(vectors / vectors.std(), np.float32))
    with torch.no_grad():
        model.translate.queries.weight.copy_(values)
        model.translate.documents.weight.copy_(values)


def load(checkpoint: Checkpoint) -> NeuralModel1:
    """Return the network of a checkpoint with the tuned p_self and λ, in evaluation mode.

    Raises:
        InputError: the checkpoint is of another kind, or its weights do not fit its config.json.
    """
    check_kind(checkpoint, "neural_model1")
    tuned = {"p_self": checkpoint.settings.p_self, "lambda_": checkpoint.settings.lambda_}
    network = replace(Network.from_json(checkpoint.network), **tuned)
    model = NeuralModel1(network, np.ones(network.vocabulary, np.float32))
    return load_trained(model, checkpoint.weights)


class Pairs:
    """The batches of every epoch, as word pieces; `padding` is the id of [PAD].

    Taught queries replace the others and bring their own negatives.

    Raises:
        InputError: no query has a relevant document in the collection, or there are no others.
    """

    def __init__(
        self,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        retriever: Retriever,
        options: PairOptions,
        padding: int,
        taught_queries: TaughtQueries | None,
    ) -> None:
        usable, self._relevant, self._negatives = pools(
            taught_queries, analysed, queries, retriever, options.negatives, seed=options.seed
        )
        self._options, self._padding = options, padding
        texts = [analysed.analyzer.begin().tokens(query.text, "wordpieces") for query in usable]
        tokens = [text[: options.max_query_tokens].astype(np.int64) for text in texts]
        self._query_offsets, self._query_tokens = packed(tokens)
        self._shares: NDArray[Any]
        self._offsets, self._tokens, self._shares = unique_tokens(
            analysed.offsets("wordpieces"),
            analysed.tokens("wordpieces"),
            options.max_document_tokens,
        )

    def batches(self, epoch: int) -> list[Batch]:
        """Return an epoch's batches: each query once, queries of similar length together."""
        options = self._options
        documents = draw_documents(
            self._relevant, self._negatives, options.negatives_each, options.seed, epoch
        )
        lengths = np.diff(self._query_offsets)
        return query_batches(documents, lengths, options.batch, options.seed, epoch)

    def seen(self) -> NDArray[np.int32]:
        """Return the word pieces of all documents and queries, ascending."""
        return np.union1d(self._tokens, self._query_tokens).astype(np.int32)

    def arrays(
        self, batch: Batch
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return a batch as matrices.

        Returns:
            Query tokens, (batch, query tokens) int64, padded with [PAD]; the unique tokens of each
            query's documents, (batch, tokens) int64; and P(d|D) of these tokens in each document,
            (batch, tokens, 1 + negatives) float32, 0 for absent tokens and for padding.
        """
        rows, columns = batch.documents.shape
        documents = batch.documents.ravel()
        gathered = Forward(self._offsets, self._tokens).gather(documents)
        query_of, document_of = np.divmod(gathered.owner, columns)
        size = int(self._tokens.max(initial=0)) + 1
        keys, key_of = np.unique(query_of * size + gathered.tokens, return_inverse=True)
        begins = np.searchsorted(keys, np.arange(rows + 1) * size)
        width = rounded(max(1, int(np.diff(begins).max(initial=0))), TOKENS_MULTIPLE)
        tokens = np.full((rows, width), self._padding, np.int64)
        row = keys // size
        tokens[row, np.arange(len(keys)) - begins[row]] = keys % size
        shares = np.zeros((rows, width, columns), np.float32)
        of_tokens = Forward(self._offsets, self._shares).gather(documents).tokens
        shares[query_of, key_of - begins[query_of], document_of] = of_tokens
        query_tokens = padded(
            self._query_offsets,
            self._query_tokens,
            batch.queries,
            self._padding,
            QUERY_TOKENS_MULTIPLE,
        )
        return query_tokens, tokens, shares
