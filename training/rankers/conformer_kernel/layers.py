"""The conformer block: a grouped convolution, then self-attention whose memory is linear in length.

Sources: Mitra et al. 2020 (paper 002), §2 and §3; Vaswani et al. 2017 for the block around it.
"""

import math

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

HIDDEN = -1e4  # before a softmax, so that a place counts nothing; float16 can hold it
AT_ONCE = 1 << 27  # numbers in one matrix of full attention, 512 MB; a layer makes several


def full_attention(queries: Tensor, keys: Tensor, values: Tensor, held: Tensor) -> Tensor:
    """Return Φ(Q Kᵀ / √d) V (paper 002, eq. 1), through a matrix of n × n.

    Args:
        queries: (batch, heads, n, key) float32.
        keys: (batch, heads, n, key) float32.
        values: (batch, heads, n, value) float32.
        held: False at padding, (batch, n) bool.

    Returns:
        (batch, heads, n, value) float32.
    """
    weights = queries @ keys.transpose(2, 3) / math.sqrt(keys.shape[3])
    closed = weights.masked_fill(~held[:, None, None, :], HIDDEN)
    return torch.softmax(closed, dim=3) @ values


def separable_attention(queries: Tensor, keys: Tensor, values: Tensor, held: Tensor) -> Tensor:
    """Return Φ(Q) · (Φ(Kᵀ) · V) (paper 002, eq. 2), through a matrix of key × value.

    Φ is a softmax along the last dimension: of Q over the key's dimensions, of Kᵀ over the text.
    Arguments and result as of `full_attention`.
    """
    closed = keys.masked_fill(~held[:, None, :, None], HIDDEN)
    gathered = torch.softmax(closed.transpose(2, 3), dim=3) @ values  # (batch, heads, key, value)
    return torch.softmax(queries, dim=3) @ gathered


class SelfAttention(nn.Module):
    """Multi-head self-attention.

    Args:
        hidden: dimensions, a multiple of `heads`.
        heads: number of heads.
        attention: separable, or full.
    """

    def __init__(self, hidden: int, heads: int, attention: str) -> None:
        super().__init__()
        self.heads, self.attention = heads, attention
        self.projections = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)

    def forward(self, states: Tensor, held: Tensor) -> Tensor:
        """Return (batch, n, hidden); `states` is of the same shape, `held` (batch, n) bool."""
        batch, n, hidden = states.shape
        split = self.projections(states).reshape(batch, n, 3, self.heads, hidden // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4).unbind(0)
        attend = separable_attention if self.attention == "separable" else full_attention
        found = attend(queries, keys, values, held).transpose(1, 2).reshape(batch, n, hidden)
        result: Tensor = self.out(found)
        return result


class Block(nn.Module):
    """A conformer, or without a convolution a transformer, whose layers are normed and added.

    Args:
        hidden: dimensions.
        heads: of the attention.
        attention: separable or full.
        width: terms that the convolution sees, odd; 0 for no convolution.
        groups: of the convolution.
        dropout: rate.
    """

    def __init__(
        self,
        hidden: int,
        heads: int,
        attention: str,
        *,
        width: int,
        groups: int,
        dropout: float,
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

    def forward(self, states: Tensor, held: Tensor) -> Tensor:
        """Return (batch, n, hidden); what stands at padding reaches no other place.

        Args:
            states: (batch, n, hidden) float32.
            held: False at padding, (batch, n) bool.
        """
        if self.convolution is not None:
            alone = states * held.unsqueeze(2)  # zeros, as beyond the text's ends
            near = self.convolution(alone.transpose(1, 2)).transpose(1, 2)
            states = self.norms[2](states + self.dropout(near))
        states = self.norms[0](states + self.dropout(self.attention(states, held)))
        found: Tensor = self.norms[1](states + self.dropout(self.dense(states)))
        return found


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
