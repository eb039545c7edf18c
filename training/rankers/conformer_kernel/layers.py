"""The conformer block: a grouped convolution, and self-attention with memory linear in length.

Sources: Mitra et al. 2020, §2 and §3; Vaswani et al. 2017 for the block around it.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

HIDDEN = -1e4  # masks a value before a softmax; fits into float16
AT_ONCE = 1 << 27  # numbers in one matrix of full attention, 512 MB; a layer makes several

Drop = Callable[[Tensor], Tensor]


def nothing(values: Tensor) -> Tensor:
    """Return values as they are."""
    return values


def full_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, dropout: Drop = nothing
) -> Tensor:
    """Return Φ(Q Kᵀ / √d) V (Mitra et al., eq. 1), which needs a matrix of n × n.

    Q and K are (batch, heads, n, key), V and the result (batch, heads, n, value), all float32. The
    mask is False at padding, (batch, n) bool. Dropout changes the softmax.
    """
    weights = queries @ keys.transpose(2, 3) / math.sqrt(keys.shape[3])
    closed = weights.masked_fill(~mask[:, None, None, :], HIDDEN)
    return dropout(torch.softmax(closed, dim=3)) @ values


def separable_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, dropout: Drop = nothing
) -> Tensor:
    """Return Φ(Q / √d) · (Φ(Kᵀ) · V) (Mitra et al., eq. 2), which needs a matrix of key × value.

    Φ is a softmax along the last dimension: of Q over the key's dimensions, of Kᵀ over the text.
    The paper has Q, its authors' code Q / √d. Arguments and result are those of `full_attention`.
    """
    closed = keys.masked_fill(~mask[:, None, :, None], HIDDEN)
    gathered = dropout(torch.softmax(closed.transpose(2, 3), dim=3)) @ values  # (…, key, value)
    return dropout(torch.softmax(queries / math.sqrt(keys.shape[3]), dim=3)) @ gathered


class SelfAttention(nn.Module):
    """Multi-head self-attention; `hidden` is a multiple of `heads`.

    Separable attention has one projection for queries and keys, as in the authors' code. Dropout is
    that of its softmaxes.
    """

    def __init__(self, hidden: int, heads: int, attention: str, dropout: float) -> None:
        super().__init__()
        self.heads, self.separable = heads, attention == "separable"
        self.projections = nn.Linear(hidden, (2 if self.separable else 3) * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        nn.init.xavier_uniform_(self.projections.weight)
        nn.init.zeros_(self.projections.bias)
        nn.init.zeros_(self.out.bias)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return (batch, n, hidden) float32 like `states`; `mask` is (batch, n) bool."""
        batch, n, hidden = states.shape
        split = self.projections(states).reshape(batch, n, -1, self.heads, hidden // self.heads)
        parts = split.permute(2, 0, 3, 1, 4).unbind(0)
        queries, keys, values = parts[0], parts[-2], parts[-1]
        attend = separable_attention if self.separable else full_attention
        attended = attend(queries, keys, values, mask, self.dropout)
        result: Tensor = self.out(attended.transpose(1, 2).reshape(batch, n, hidden))
        return result


class Block(nn.Module):
    """A conformer block, or a transformer block if the convolution's width is 0.

    One residual connection goes around convolution and attention, as in the authors' code. The
    convolution reads whatever stands at padding.
    """

    def __init__(
        self, hidden: int, heads: int, attention: str, *, width: int, groups: int, dropout: float
    ) -> None:
        super().__init__()
        self.convolution = (
            nn.Conv1d(hidden, hidden, width, padding=width // 2, groups=groups) if width else None
        )
        self.attention = SelfAttention(hidden, heads, attention, dropout)
        self.dense = nn.Sequential(
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, hidden)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return (batch, n, hidden) float32 like `states`; attention reads no padding."""
        near = states
        if self.convolution is not None:
            near = self.convolution(states.transpose(1, 2)).transpose(1, 2)
        states = self.norms[0](states + self.dropout(self.attention(near, mask)))
        result: Tensor = self.norms[1](states + self.dropout(self.dense(states)))
        return result


def positions(n: int, hidden: int, like: Tensor) -> Tensor:
    """Return sinusoidal encodings of n positions, (n, hidden) (Vaswani et al. 2017, §3.5).

    `hidden` is even, and the result has the type and device of `like`.
    """
    rates = torch.exp(torch.arange(0, hidden, 2, device=like.device) * (-math.log(1e4) / hidden))
    angles = torch.arange(n, device=like.device).unsqueeze(1) * rates  # (n, hidden / 2)
    return torch.stack([torch.sin(angles), torch.cos(angles)], 2).reshape(n, hidden).to(like.dtype)


def pairs_together(numbers: int) -> int:
    """Return how many pairs fit, at least one, if each needs a matrix of this many numbers."""
    return max(1, AT_ONCE // max(1, numbers))


def in_parts(module: nn.Module, size: int, *inputs: Tensor) -> Tensor:
    """Run a module on inputs, `size` rows at a time, and return all outputs.

    With more than one part, the states of a part are dropped and computed again for its gradient,
    which is the same (Chen et al. 2016). The module must treat every row separately.
    """
    batch = len(inputs[0])
    if size >= batch:
        outputs: Tensor = module(*inputs)
        return outputs
    parts = [[rows[at : at + size] for rows in inputs] for at in range(0, batch, size)]
    return torch.cat([checkpoint(module, *part, use_reentrant=False) for part in parts])
