"""Distil an oracle's token vectors into light ones: mean squared error on sampled tokens.

Source: Boualili 2022, §8.3.2, eq. 8.8. Tokens are drawn uniformly from each text.
"""

import logging
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import mse_loss

from ranklet.training.errors import TrainingError
from ranklet.training.progress import progress
from ranklet.training.rankers.srm.network import LightNetwork, light_vectors
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import Padded, TokenVectors

_log = logging.getLogger(__name__)

LABEL = "distilling"
WARM_UP = 0.1  # share of the steps in which the learning rate grows from 0


def distil(model: LightNetwork, sources: Sequence[TokenVectors], options: Options) -> list[float]:
    """Change the light modules of a network in place, and return the loss of each step.

    Args:
        model: the network; its oracle is not used.
        sources: texts with the oracle's vectors.
        options: steps, texts per step, tokens per text and learning rate.

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
    light.train()
    for step in progress(range(options.distil_steps), LABEL):
        rate = options.distil_rate * _rate((step + 0.5) / options.distil_steps)
        for optimiser in optimisers:
            optimiser.param_groups[0]["lr"] = rate
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


def distillation_error(model: LightNetwork, source: TokenVectors, numbers: Sequence[int]) -> float:
    """Return the mean squared error on all tokens of some texts, per number of a vector."""
    with torch.inference_mode():
        texts = source.padded(numbers).to(model.device)
        vectors, _ = light_vectors(model, texts)
        return float(mse_loss(vectors[texts.kept], texts.context[texts.kept]))


def _loss(
    model: LightNetwork, texts: Padded, tokens: int, rng: np.random.Generator
) -> torch.Tensor:
    """Return the mean squared error on the sampled tokens of some texts (eq. 8.8)."""
    light, sampled = model.light, torch.from_numpy(sample(texts.kept.numpy(), tokens, rng))
    if light.local is None and light.neighbours is None:  # a vector depends on its token alone
        context = texts.context[sampled][None]
        vectors, _ = light(texts.ids[sampled][None], torch.ones(context.shape[:2]) > 0, context)
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


def _rate(done: float) -> float:
    """Return the factor of the learning rate: a warm-up, then down to 0."""
    return done / WARM_UP if done < WARM_UP else (1 - done) / (1 - WARM_UP)
