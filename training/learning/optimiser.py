"""Make the optimiser, and compute its learning rate over time."""

import torch
from torch import nn

from ranklet.training.learning.options import TrainingOptions


def make_optimiser(
    model: nn.Module, options: TrainingOptions, device: torch.device
) -> torch.optim.Optimizer:
    """Return an optimiser; parameters under ``head`` learn `head_rate` times as fast as others."""
    if options.head_rate == 1:
        groups = [{"params": list(model.parameters())}]
    else:
        named = list(model.named_parameters())
        head = [parameter for name, parameter in named if name.startswith("head.")]
        body = [parameter for name, parameter in named if not name.startswith("head.")]
        groups = [{"params": body}, {"params": head}]
    kind = torch.optim.AdamW if options.optimiser == "adamw" else torch.optim.Adam
    return kind(
        [group for group in groups if group["params"]],
        lr=options.learning_rate,
        betas=options.betas,
        weight_decay=options.weight_decay,
        fused=device.type in ("cpu", "cuda"),
    )


def set_rate(optimiser: torch.optim.Optimizer, options: TrainingOptions, now: float) -> None:
    """Set the learning rate of a step; if there is a group of the head, it is the last one."""
    for group, factor in zip(optimiser.param_groups, (1.0, options.head_rate), strict=False):
        group["lr"] = now * factor


def rate(options: TrainingOptions, done: float, epochs: float = 1) -> float:
    """Return the factor of the learning rate when a share of the training, in [0, 1], is done.

    The schedule by_epoch also needs the number of epochs in all.

    >>> options = TrainingOptions(warmup=0.5)
    >>> [rate(options, done) for done in (0, 0.25, 0.5, 0.75, 1)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if done < options.warmup:
        return done / options.warmup
    if options.schedule == "linear":
        return (1 - done) / (1 - options.warmup)
    return options.decay ** int(done * epochs) if options.schedule == "by_epoch" else 1.0
