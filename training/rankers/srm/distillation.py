"""Distil an oracle's token vectors into light ones: mean squared error on sampled tokens.

Source: Boualili 2022, §8.3.2, eq. 8.8. Tokens are drawn uniformly from each text.
"""

import logging
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import mse_loss

from ranklet.training.errors import TrainingError
from ranklet.training.progress import progress
from ranklet.training.rankers.srm.modules import LightModules
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import Padded, TokenVectors

_log = logging.getLogger(__name__)

LABEL = "distilling"
WARM_UP = 0.1  # share of the steps in which the learning rate grows from 0


def distil(
    light: LightModules, sources: Sequence[TokenVectors], special: Tensor, options: Options
) -> list[float]:
    """Change the modules in place, and return the loss of each step.

    Args:
        light: the modules.
        sources: texts with the oracle's vectors.
        special: ids of special tokens, (special,) int64.
        options: steps, texts per step, tokens per text and learning rate.

    Raises:
        TrainingError: a loss is not finite.
    """
    table, rest = (
        light.table.weight,
        [each for name, each in light.named_parameters() if not name.startswith("table.")],
    )
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
        for at, source in enumerate(sources):
            first = ends[at] - len(source)
            own = drawn[(drawn >= first) & (drawn < ends[at])] - first
            if len(own):
                texts = source.padded(own.tolist())
                loss = loss + _loss(light, texts, special, options.distil_tokens, generator) * (
                    len(own) / len(drawn)
                )
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


def distillation_error(
    light: LightModules, source: TokenVectors, special: Tensor, numbers: Sequence[int]
) -> float:
    """Return the mean squared error on all tokens of some texts, per number of a vector."""
    with torch.inference_mode():
        texts = source.padded(numbers)
        vectors, _ = light(texts.ids, texts.present & ~_is(special, texts.ids), texts.context)
        return float(mse_loss(vectors[texts.kept], texts.context[texts.kept]))


def _loss(
    light: LightModules, texts: Padded, special: Tensor, tokens: int, rng: np.random.Generator
) -> Tensor:
    """Return the mean squared error on the sampled tokens of some texts (eq. 8.8)."""
    sampled = torch.from_numpy(sample(texts.kept.numpy(), tokens, rng))
    if light.local is None and light.neighbours is None:  # a vector depends on its token alone
        context = texts.context[sampled][None]
        vectors, _ = light(texts.ids[sampled][None], torch.ones(context.shape[:2]) > 0, context)
        return mse_loss(vectors, context)
    vectors, _ = light(texts.ids, texts.present & ~_is(special, texts.ids), texts.context)
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


def _is(special: Tensor, ids: Tensor) -> Tensor:
    return torch.isin(ids, special)


def _rate(done: float) -> float:
    """Return the factor of the learning rate: a warm-up, then down to 0."""
    return done / WARM_UP if done < WARM_UP else (1 - done) / (1 - WARM_UP)
