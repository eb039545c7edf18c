"""Full attention over many long texts, a few at a time: its matrices grow with length squared."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

AT_ONCE = 1 << 27  # numbers in one matrix of full attention, 512 MB; a layer makes several


def texts_together(heads: int, terms: int) -> int:
    """Return how many texts of so many terms full attention takes at a time, at least one."""
    return max(1, AT_ONCE // (heads * terms**2))


def in_parts(module: nn.Module, each: int, *inputs: Tensor) -> Tensor:
    """Return what a module gives for inputs, `each` rows of them at a time.

    Where there is more than one part, its states are dropped and made again for its gradient, which
    is the same (Chen et al. 2016). The module must treat each row by itself.

    Args:
        module: gives (rows, …) for some rows.
        each: rows of a part.
        inputs: (batch, …) each.
    """
    batch = len(inputs[0])
    if each >= batch:
        whole: Tensor = module(*inputs)
        return whole
    parts = [[rows[at : at + each] for rows in inputs] for at in range(0, batch, each)]
    return torch.cat([checkpoint(module, *part, use_reentrant=False) for part in parts])
