"""Train light contextualisation: distil an oracle, then fine-tune by score margins.

Source: Boualili 2022, §8.3.2. The table of sub-embeddings is frozen in fine-tuning. The oracle
never changes.

The distillation has the mean squared error on sampled tokens (eq. 8.8). Tokens are drawn uniformly
from each text.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import mse_loss

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.progress import progress, warn
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.runtime.rankers.srm.settings import LightForm, SRMSettings
from ranklet.runtime.text.tokenizing import special_ids
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.text_pairs import Batch
from ranklet.training.errors import TrainingError
from ranklet.training.learning.device import full_precision, seeded
from ranklet.training.learning.loop import rate
from ranklet.training.learning.losses import margin_mse
from ranklet.training.rankers.colbert.network import ColBERTNetwork
from ranklet.training.rankers.srm.material import Material
from ranklet.training.rankers.srm.network import KIND, LightNetwork, light_vectors
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import Padded, TokenVectors

EVALUATED = 64  # texts at a time

LABEL = "distilling"
WARM_UP = 0.1  # share of the steps in which the learning rate grows from 0


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Distil and fine-tune light vectors.

    Raises:
        InputError: as `EncoderTexts`; or the oracle or the teacher does not fit.
        TrainingError: see `fit`.
    """
    return learn(Material.read(collection, queries, dev, options), options)


def light_settings(oracle: ColBERTSettings, options: Options) -> SRMSettings:
    """Return the settings of light vectors with the oracle's way to read texts.

    Raises:
        InputError: the options do not go together.
    """
    return SRMSettings(
        options.max_query_tokens,
        options.max_document_tokens,
        dimension=oracle.dimension,
        similarity=oracle.similarity,
        query_prompt=oracle.query_prompt,
        document_prompt=oracle.document_prompt,
        query_marker=oracle.query_marker,
        document_marker=oracle.document_marker,
        skipped=oracle.skipped,
        special_tokens=oracle.special_tokens,
        **{each.name: getattr(options, each.name) for each in fields(LightForm)},
    )


def learn(material: Material, options: Options) -> Checkpoint:
    """Distil and fine-tune light vectors on what was read.

    Raises:
        InputError: the options do not go together.
        TrainingError: see `fit`.
    """
    settings = light_settings(material.oracle.settings, options)
    tokenizer, began = material.oracle.need_tokenizer(), monotonic()
    with seeded(options.seed):
        model = LightNetwork(settings, None, len(material.alone), special_ids(tokenizer))
        table = model.light.table.weight
        with torch.no_grad():
            begun = material.centroids(options.sub_embeddings, options.seed)
            table.copy_(torch.from_numpy(begun).flatten(1))
            model.light.begin()
        losses = distil(model, material.sources, options)
    if options.max_minutes is not None:
        left = options.max_minutes - (monotonic() - began) / 60
        options = replace(options, max_minutes=max(left, 0.001))
    table.requires_grad = False
    tuned = _fine_tuned(model, settings, material, options)
    facts = {"oracle": str(options.oracle), "distillation_loss": _ends_of(losses)}
    weights, network = dict(tuned.weights), {"vocab_size": len(table)}
    if not settings.static:
        weights |= {f"oracle.{name}": each for name, each in _full(material.network).items()}
        network = dict(material.oracle.network)
    return replace(tuned, weights=weights, network=network, training={**tuned.training, **facts})


def read_vectors(
    model: LightNetwork, texts: TokenVectors, numbers: Sequence[int]
) -> list[NDArray[np.float32]]:
    """Return the light vectors of texts that have one in MaxSim, each (tokens, dimension)."""
    lengths = [len(texts.of(number)[0].ids) for number in numbers]
    order = np.argsort(lengths, kind="stable")
    vectors: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(order)
    # In float32, because they are compared with the oracle's and may be evaluated during a training
    # in bfloat16.
    with torch.inference_mode(), full_precision(model.device):
        for begin in range(0, len(order), EVALUATED):
            block = order[begin : begin + EVALUATED].tolist()
            padded = texts.padded([numbers[at] for at in block])
            made, _ = light_vectors(model, padded)
            for at, own, kept in zip(block, made, padded.kept.to(made.device), strict=True):
                vectors[at] = own[kept].cpu().numpy()
    return vectors


def pool_ranks(model: LightNetwork, material: Material) -> NDArray[np.float64]:
    """Return each query's 1 / rank in the pool by MaxSim, (queries,)."""
    pool = material.texts.pool
    places = material.documents_at(pool.numbers)
    documents = read_vectors(model, material.documents, places)
    queries = read_vectors(model, material.pool_queries, range(len(material.pool_queries)))
    return pool.max_sim_ranks(queries, documents)


def _fine_tuned(
    model: LightNetwork, settings: SRMSettings, material: Material, options: Options
) -> Checkpoint:
    """Return the checkpoint after fine-tuning, or at once if there is nothing to fine-tune."""
    texts = material.texts
    learns = any(each.requires_grad for each in model.parameters())
    if not options.fine_tune or not learns:
        if options.fine_tune:
            warn("nothing is fine-tuned, because there is only the table, which stays as it is")
        measure = float(pool_ranks(model, material).mean())
        return texts.unchanged(KIND, settings, model, measure, options)

    def loss(batch: Batch) -> Tensor:
        teacher_margins, light = score_margins(model, material, batch)
        if texts.margins is not None:
            given = texts.margins.of(batch.queries, batch.own)[:, 0]
            teacher_margins = torch.from_numpy(given).to(light.device)
        return margin_mse(light, teacher_margins)

    def evaluate() -> NDArray[np.float64]:
        return pool_ranks(model, material)

    return texts.learn(KIND, settings, model, loss, evaluate, label="fine-tuning", options=options)


def score_margins(model: LightNetwork, material: Material, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the score margins of a batch's queries, the oracle's and the light ones."""
    queries = material.queries.padded(batch.queries.tolist()).to(model.device)
    places = material.documents_at(batch.documents)
    documents = material.documents.padded(places).to(model.device)
    light, _ = light_vectors(model, queries)
    of_documents, _ = light_vectors(model, documents)
    margins = [
        pair_scores(query, document, queries.kept, documents.kept)
        for query, document in ((queries.context, documents.context), (light, of_documents))
    ]
    return margins[0].detach(), margins[1]


def pair_scores(queries: Tensor, documents: Tensor, kept: Tensor, read: Tensor) -> Tensor:
    """Return each query's MaxSim with its own document less that with its other one, (queries,).

    Args:
        queries: (queries, query tokens, dimension) float32.
        documents: (2 × queries, tokens, dimension) float32, the relevant ones first.
        kept: which tokens of the queries have a vector, (queries, query tokens) bool.
        read: which tokens of the documents have one, (documents, tokens) bool.
    """
    count = len(queries)
    twice, both = queries.repeat(2, 1, 1), kept.repeat(2, 1)
    products = torch.einsum("nid,njd->nij", twice, documents)
    best = products.masked_fill(~read[:, None, :], -torch.inf).amax(2)
    best = best.masked_fill(~read.any(1)[:, None], 0.0)
    scores = (best * both).sum(1)
    return scores[:count] - scores[count:]


def _full(network: ColBERTNetwork) -> dict[str, NDArray[Any]]:
    return {name: values.numpy() for name, values in network.state_dict().items()}


def _ends_of(losses: Sequence[float]) -> list[float]:
    """Return the mean losses of the first and the last tenth of the steps, if there are any."""
    tenth = max(1, len(losses) // 10)
    parts = [losses[:tenth], losses[-tenth:]] if losses else []
    return [float(np.mean(part)) for part in parts]


def distil(model: LightNetwork, sources: Sequence[TokenVectors], options: Options) -> list[float]:
    """Change the light modules of a network in place, and return the loss of each step.

    It takes half of the minutes of a training at most, because fine-tuning needs the others.

    Args:
        model: the network; its oracle is not used.
        sources: texts with the oracle's vectors.
        options: steps, minutes, texts per step, tokens per text and learning rate.

    Raises:
        TrainingError: a loss is not finite.
    """
    light = model.light
    table = light.table.weight
    rest = [each for name, each in light.named_parameters() if not name.startswith("table.")]
    sparse = torch.optim.SparseAdam([table], lr=options.distil_rate)
    optimisers: list[torch.optim.Optimizer] = [sparse]
    if rest:
        optimisers.append(torch.optim.Adam(rest, lr=options.distil_rate))
    generator = np.random.default_rng((options.seed, 0))
    ends = np.cumsum([len(source) for source in sources])
    losses: list[float] = []
    began, limit = monotonic(), inf if options.max_minutes is None else options.max_minutes * 30
    light.train()
    for step in progress(range(options.distil_steps), LABEL):
        done = max((step + 0.5) / options.distil_steps, (monotonic() - began) / limit)
        if done >= 1:
            break
        now = options.distil_rate * rate(WARM_UP, done)
        for optimiser in optimisers:
            optimiser.param_groups[0]["lr"] = now
            optimiser.zero_grad()
        drawn = generator.integers(0, ends[-1], options.distil_batch)
        loss = torch.zeros(())
        for index, source in enumerate(sources):
            first = ends[index] - len(source)
            own = drawn[(drawn >= first) & (drawn < ends[index])] - first
            if len(own):
                texts = source.padded(own.tolist())
                share = len(own) / len(drawn)
                loss = loss + share * _loss(model, texts, options.distil_tokens, generator)
        if not torch.isfinite(loss):
            raise TrainingError(
                f"the loss of distillation is {loss.item()} at step {step + 1}; lower --distil-rate"
            )
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
            for optimiser in optimisers:
                optimiser.step()
        losses.append(loss.item())
    light.eval()
    return losses


def _loss(
    model: LightNetwork, texts: Padded, tokens: int, rng: np.random.Generator
) -> torch.Tensor:
    """Return the mean squared error on the sampled tokens of some texts (eq. 8.8)."""
    light, sampled = model.light, torch.from_numpy(sample(texts.kept.numpy(), tokens, rng))
    if light.local is None and light.neighbours is None:  # a vector depends on its token alone
        context = texts.context[sampled][None]
        table = light.sub_embeddings(texts.ids[sampled][None])
        vectors, _ = light(table, torch.ones(context.shape[:2]) > 0, context)
        return mse_loss(vectors, context)
    vectors, _ = light_vectors(model, texts)
    return mse_loss(vectors[sampled], texts.context[sampled])


def sample(kept: NDArray[np.bool_], most: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which tokens are drawn, uniformly and without repetition, `most` of each text.

    >>> sample(np.array([[True, True, False]]), 2, np.random.default_rng(0)).tolist()
    [[True, True, False]]
    """
    keys = np.where(kept, rng.random(kept.shape), 2.0)
    order = np.argsort(keys, axis=1)[:, :most]
    drawn = np.zeros_like(kept)
    np.put_along_axis(drawn, order, values=True, axis=1)
    return drawn & kept
