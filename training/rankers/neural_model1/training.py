"""Neural Model 1, context-free: a network for T(q|d) inside Model 1's product of sums.

Source: Boytsov & Kolter 2021 (paper 000), §3.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.neural_model1 import NeuralModel1Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import draw_probes
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.retriever import open_bm25
from ranklet.training.indexing.translation_tables import background
from ranklet.training.indexing.wordpieces import padding_token, special_tokens
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.losses import listwise_loss, margin_loss
from ranklet.training.learning.plan import Plan
from ranklet.training.learning.weights import load_weights, weights_of
from ranklet.training.rankers.model1.constants import Likelihoods, fused_value, tune_constants
from ranklet.training.rankers.neural_model1.embeddings import projected
from ranklet.training.rankers.neural_model1.model import NeuralModel1
from ranklet.training.rankers.neural_model1.network import Network, Parametrisation
from ranklet.training.rankers.neural_model1.pairs import PairBatch, PairOptions, Pairs
from ranklet.training.rankers.neural_model1.sparsify import tables

# As in paper 000, §4.1, but for 12 epochs in place of 32, each with several negatives, and a rate
# that falls to 0, which suits fewer epochs; `schedule="by_epoch"` and `epochs=32` are the paper's.
PLAN = Plan(learning_rate=3e-3, epochs=12, schedule="linear", warmup=0.1, weight_decay=1e-7)
PAIRS = PairOptions()
FIELD = "wordpieces"
DEV_QUERIES = 200  # evaluated after each epoch

Objective = Literal["cross_entropy", "margin"]


def train(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    tune: Sequence[JudgedQuery],
    *,
    bm25: BM25Settings | None = None,
    measure: str = "MRR@10",
    plan: Plan = PLAN,
    data: PairOptions = PAIRS,
    objective: Objective = "cross_entropy",
    margin: float = 1.0,
    vector: int = 64,
    hidden: tuple[int, int] = (64, 32),
    parametrisation: Parametrisation = "network",
    embeddings: NDArray[np.float32] | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> Checkpoint:
    """Learn T(q|d) from pairs of a relevant and another document, then choose p_self and λ.

    Args:
        analysed: the collection, with word pieces and BM25's field among its fields.
        queries: what the network learns from.
        tune: other queries: after each epoch some are ranked to find the best weights, and on all
            of them p_self and λ are chosen.
        bm25: the ranker that gives negatives and candidates, and that the scores are fused with;
            None for the default over lemmas.
        measure: what is tuned for.
        plan: how long and how fast.
        data: which pairs, and in batches of how many.
        objective: cross_entropy, see `listwise_loss`; or margin, the paper's `margin_loss`.
        margin: by which a relevant document's score must exceed the other's, in nats a query token.
        vector: dimension of embeddings and of x_q, x_d.
        hidden: outputs of F1 and F2.
        parametrisation: network, or cosine, the paper's weaker variant.
        embeddings: word vectors to begin with, (word pieces, any) float32; None for random ones.
        folder: where the state is kept meanwhile.
        resume: whether to go on from the state in `folder`.

    Returns:
        A checkpoint: the network's weights, to be sparsified by export, and ``seen``, the word
        pieces of the collection and of the queries, (tokens,) int32: of others it knows nothing.

    Raises:
        InputError: an option is not allowed, or no query has a relevant document here.
        TrainingError: see `fit`.
    """
    if objective not in get_args(Objective):
        allowed = ", ".join(get_args(Objective))
        raise InputError(f"objective is {objective!r}; allowed are {allowed}")
    tokenizer = analysed.analyzer.tokenizer
    special = special_tokens(tokenizer)
    padding = padding_token(tokenizer)
    size = tokenizer.get_vocab_size()
    prior = background(analysed.frequencies(FIELD))
    chosen = bm25 or BM25Settings()
    retriever = open_bm25(chosen, analysed.postings(chosen.field))
    pairs = Pairs(analysed, queries, retriever, data, plan.seed, padding)
    network = Network(size, padding, special, vector, hidden, parametrisation)
    with seeded(plan.seed):
        model = NeuralModel1(network, prior)
        if embeddings is not None:
            start_from(model, embeddings)

    def loss(batch: PairBatch) -> Tensor:
        device = model.background.device
        asked, held, shares = (torch.as_tensor(each, device=device) for each in pairs.arrays(batch))
        lengths = asked.ne(padding).sum(1, keepdim=True).clamp(min=1)
        scores = model.log_likelihoods(asked, held, shares) / lengths  # (batch, 1 + negatives)
        if objective == "margin":
            return margin_loss(scores[:, :1], scores[:, 1:], margin)
        return listwise_loss(scores)

    drawn = np.random.default_rng(plan.seed).permutation(len(tune))[:DEV_QUERIES]
    some = [tune[at] for at in drawn]
    at_hand = Likelihoods(tables(model), prior, FIELD, [(network.p_self, network.lambda_)])

    def evaluate() -> float:
        return fused_value(analysed, some, retriever, at_hand, measure)

    report = learn(
        model, pairs.batches, loss, plan, evaluate,
        made_of={"data": asdict(data), "objective": objective, "margin": margin},
        folder=folder, resume=resume,
    )  # fmt: skip
    likelihoods = Likelihoods(tables(model), prior, FIELD)
    tuned = tune_constants(analysed, tune, retriever, likelihoods, measure)
    return Checkpoint(
        "neural_model1",
        NeuralModel1Settings(FIELD, tuned.p_self, tuned.lambda_),
        {"seen": pairs.seen()},
        tokenizer=tokenizer,
        network={"architectures": ["NeuralModel1"], **asdict(network)},
        weights=weights_of(model),
        training={**report, **tuned.report},
        probes=draw_probes(analysed.listed(), tune, titles=analysed.titles),
    )


def start_from(model: NeuralModel1, embeddings: NDArray[np.float32]) -> None:
    """Let both tables begin with word vectors, (vocabulary, any) float32; see `projected`."""
    network = model.network
    values = torch.from_numpy(projected(embeddings, network.vocabulary, network.vector))
    with torch.no_grad():
        model.translate.queries.weight.copy_(values)
        model.translate.documents.weight.copy_(values)


def load(checkpoint: Checkpoint) -> NeuralModel1:
    """Return the network of a checkpoint, in evaluation mode, with the tuned p_self and λ.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    if checkpoint.kind != "neural_model1" or not checkpoint.weights:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no neural Model 1")
    tuned = {"p_self": checkpoint.settings.p_self, "lambda_": checkpoint.settings.lambda_}
    network = replace(Network.from_json(checkpoint.network), **tuned)
    model = NeuralModel1(network, np.ones(network.vocabulary, np.float32))
    load_weights(model, checkpoint.weights)
    return model.eval()
