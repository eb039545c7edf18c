"""The conformer block: a grouped convolution, and self-attention with memory linear in length.

Sources: Mitra et al. 2020, §2 and §3; Vaswani et al. 2017 for the block around it.
"""

import math

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

HIDDEN = -1e4  # masks a value before a softmax; fits into float16
AT_ONCE = 1 << 27  # numbers in one matrix of full attention, 512 MB; a layer makes several


def full_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Return Φ(Q Kᵀ / √d) V (Mitra et al., eq. 1), which needs a matrix of n × n.

    Q and K are (batch, heads, n, key), V and the result (batch, heads, n, value), all float32. The
    mask is False at padding, (batch, n) bool.
    """
    weights = queries @ keys.transpose(2, 3) / math.sqrt(keys.shape[3])
    closed = weights.masked_fill(~mask[:, None, None, :], HIDDEN)
    return torch.softmax(closed, dim=3) @ values


def separable_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Return Φ(Q) · (Φ(Kᵀ) · V) (Mitra et al., eq. 2), which needs a matrix of key × value.

    Φ is a softmax along the last dimension: of Q over the key's dimensions, of Kᵀ over the text.
    Arguments and result are those of `full_attention`.
    """
    closed = keys.masked_fill(~mask[:, None, :, None], HIDDEN)
    gathered = torch.softmax(closed.transpose(2, 3), dim=3) @ values  # (batch, heads, key, value)
    return torch.softmax(queries, dim=3) @ gathered


class SelfAttention(nn.Module):
    """Multi-head self-attention, separable or full; `hidden` is a multiple of `heads`."""

    def __init__(self, hidden: int, heads: int, attention: str) -> None:
        super().__init__()
        self.heads, self.attention = heads, attention
        self.projections = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return (batch, n, hidden) float32 like `states`; `mask` is (batch, n) bool."""
        batch, n, hidden = states.shape
        split = self.projections(states).reshape(batch, n, 3, self.heads, hidden // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4).unbind(0)
        attend = separable_attention if self.attention == "separable" else full_attention
        attended = attend(queries, keys, values, mask).transpose(1, 2).reshape(batch, n, hidden)
        result: Tensor = self.out(attended)
        return result


class Block(nn.Module):
    """A conformer block, or a transformer block if the convolution's width is 0."""

    def __init__(
        self, hidden: int, heads: int, attention: str, *, width: int, groups: int, dropout: float
    ) -> None:
        super().__init__()
        self.convolution = (
            nn.Conv1d(hidden, hidden, width, padding=width // 2, groups=groups) if width else None
        )
        self.attention = SelfAttention(hidden, heads, attention)
        self.dense = nn.Sequential(
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, hidden)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(3 if width else 2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return (batch, n, hidden) float32 like `states`; padding affects no other term."""
        if self.convolution is not None:
            masked = states * mask.unsqueeze(2)  # zeros at padding, as beyond the end of the text
            convolved = self.convolution(masked.transpose(1, 2)).transpose(1, 2)
            states = self.norms[2](states + self.dropout(convolved))
        states = self.norms[0](states + self.dropout(self.attention(states, mask)))
        result: Tensor = self.norms[1](states + self.dropout(self.dense(states)))
        return result


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
