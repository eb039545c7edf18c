"""The optimiser of a plan, with a learning rate of its own for a model's head."""

import torch
from torch import nn

from ranklet.training.learning.plan import Plan


def make_optimiser(model: nn.Module, plan: Plan, device: torch.device) -> torch.optim.Optimizer:
    """Return the plan's optimiser over all parameters.

    Args:
        model: what lies under ``head`` in it learns `head_rate` times as fast.
        plan: with the rates.
        device: where the model is.
    """
    head = [each for name, each in model.named_parameters() if name.startswith("head.")]
    body = [each for name, each in model.named_parameters() if not name.startswith("head.")]
    groups = [{"params": body}, {"params": head}] if plan.head_rate != 1 else [
        {"params": list(model.parameters())}
    ]  # fmt: skip
    kind = torch.optim.AdamW if plan.optimiser == "adamw" else torch.optim.Adam
    return kind(
        [group for group in groups if group["params"]],
        lr=plan.learning_rate,
        betas=plan.betas,
        weight_decay=plan.weight_decay,
        fused=device.type in ("cpu", "cuda"),
    )


def set_rate(optimiser: torch.optim.Optimizer, plan: Plan, now: float) -> None:
    """Set the learning rate of a step: the head's group, where there is one, is the last."""
    for group, factor in zip(optimiser.param_groups, (1.0, plan.head_rate), strict=False):
        group["lr"] = now * factor
