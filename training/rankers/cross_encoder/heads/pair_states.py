"""What a head reads: a pair's contextual vectors, which are query and which document, and whose.

Everything here is made of operators that ONNX has, and nothing hangs on Python values: a graph that
is traced once serves any number of chunks, tokens and pairs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize


class PairStates(NamedTuple):
    """The chunks of some pairs after the encoder; c chunks, t tokens, p pairs."""

    layers: tuple[Tensor, ...]  # contextual vectors, the last layer last, (c, t, dimension) each
    query: Tensor  # 1 at the query's own tokens, (c, t) float32: no [CLS], [SEP], marker, padding
    document: Tensor  # the same of the document's, (c, t)
    query_markers: Tensor  # 1 at markers in the query's segment, (c, t) float32
    document_markers: Tensor  # the same in the document's, (c, t)
    pairs: Tensor  # 1 where a chunk is of a pair, (p, c) float32

    @property
    def last(self) -> Tensor:
        """The last layer's vectors, (c, t, dimension)."""
        return self.layers[-1]

    @property
    def cls(self) -> Tensor:
        """The mean of the chunks' [CLS] vectors, (p, dimension) (paper 000, §3: vanilla full)."""
        return self.mean(self.last[:, 0])

    def sum(self, values: Tensor) -> Tensor:
        """Return sums over a pair's chunks, (p, …), of values (c, …)."""
        summed = self.pairs @ values.flatten(1)
        return summed.reshape(-1, *values.shape[1:])

    def mean(self, values: Tensor) -> Tensor:
        """Return means over a pair's chunks, (p, n), of values (c, n)."""
        return (self.pairs @ values) / self.pairs.sum(1, keepdim=True)

    def largest(self, values: Tensor) -> Tensor:
        """Return the largest over a pair's chunks, (p, n), of values (c, n)."""
        absent = (self.pairs == 0).unsqueeze(2)  # (p, c, 1)
        return values.unsqueeze(0).masked_fill(absent, LEAST).amax(1)

    def first(self, values: Tensor) -> Tensor:
        """Return a pair's first chunk's, (p, n), of values (c, n)."""
        return self.first_where(values, torch.ones_like(values[:, :1]))

    def first_where(self, values: Tensor, allowed: Tensor) -> Tensor:
        """Return those of the first chunk that is allowed, or zeros, (p, n).

        Args:
            values: (c, n).
            allowed: 1 or 0, (c, 1).
        """
        counted = self.pairs * allowed.squeeze(1)  # (p, c)
        return first_of(counted) @ values

    def each_alone(self) -> "PairStates":
        """Return the same with every chunk as a pair of its own."""
        numbers = torch.arange(self.last.shape[0], device=self.pairs.device)
        alone = (numbers.unsqueeze(1) == numbers).to(self.pairs.dtype)
        return self._replace(pairs=alone)

    def query_tokens(self, states: Tensor, slots: Tensor | int) -> tuple[Tensor, Tensor]:
        """Return a layer's vectors of the query's tokens, moved up to close the gaps of markers.

        So the i-th query token has the same place in all chunks, whatever is marked in each.

        Args:
            states: (c, t, dimension).
            slots: how many tokens; those after it are left out.

        Returns:
            (c, slots, dimension), zeros where there is none; and 1 where there is one, (c, slots).
        """
        place = self.query.cumsum(1) - 1  # (c, t)
        wanted = torch.arange(slots, device=states.device).to(states.dtype)  # type: ignore[arg-type]
        moves = (place.unsqueeze(1) == wanted.unsqueeze(1)) * self.query.unsqueeze(1)
        return moves @ states, moves.sum(2)  # moves: (c, slots, t)

    @property
    def longest_query(self) -> Tensor:
        """How many tokens the longest query has, at least 1, () int64."""
        return self.query.sum(1).amax().clamp(min=1).to(torch.int64)


LEAST = -1e4  # stands for minus infinity, and fits into 16 bits


def first_of(mask: Tensor) -> Tensor:
    """Return the mask with only the first 1 of each row left, (rows, n) float32."""
    return mask * (mask.cumsum(1) == 1)


def make_pair_states(
    layers: Sequence[Tensor],
    input_ids: Tensor,
    attention_mask: Tensor,
    token_type_ids: Tensor,
    pairs: Tensor,
    special: Tensor,
    markers: Tensor,
) -> PairStates:
    """Tell query from document and both from markers.

    Args:
        layers: contextual vectors, (chunks, tokens, dimension) each.
        input_ids: (chunks, tokens) int64.
        attention_mask: 1 at tokens, 0 at padding, (chunks, tokens) int64.
        token_type_ids: 0 up to the first [SEP], 1 from there on, (chunks, tokens) int64.
        pairs: 1 where a chunk is of a pair, (pairs, chunks) int64.
        special: ids that are no text, (n,) int64.
        markers: ids of the markers among them, (n,) int64.
    """
    present = attention_mask.float()
    in_document = present * token_type_ids.float()
    in_query = present - in_document
    marks = is_one_of(input_ids, markers)
    text = 1 - is_one_of(input_ids, special)
    return PairStates(
        tuple(each.float() for each in layers),
        in_query * text,
        in_document * text,
        in_query * marks,
        in_document * marks,
        pairs.float(),
    )


def is_one_of(ids: Tensor, wanted: Tensor) -> Tensor:
    """Return 1 where an id is one of those wanted, (…) float32, of ids (…) int64."""
    return (ids.unsqueeze(-1) == wanted).float().sum(-1).clamp(max=1)


def similarities(reading: PairStates, slots: Tensor | int) -> tuple[list[Tensor], Tensor]:
    """Return the cosine of every query token with every document token, layer by layer.

    0 where either is none (MacAvaney et al. 2019, CEDR, §2.2: one matrix S a layer).

    Args:
        reading: of some chunks.
        slots: query tokens.

    Returns:
        (chunks, slots, tokens) float32 a layer; and 1 at query tokens, (chunks, slots).
    """
    found = []
    mask = reading.document.unsqueeze(1)  # (c, 1, t)
    text = (reading.query + reading.document).unsqueeze(2)  # (c, t, 1)
    for states in reading.layers:
        # Scaled before they are multiplied: onnxruntime fuses the attention of a layer only where
        # three matrix products read what it reads, and the head's must not be a fourth.
        units = normalize(states * text, dim=2)
        queries, held = reading.query_tokens(units, slots)
        found.append((queries @ units.transpose(1, 2)) * mask)
    return found, held
