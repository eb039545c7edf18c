"""The input of a head: contextual vectors, and which of them belong to query, document and pair.

All of this consists of ONNX operators and depends on no Python values, so a graph that is traced
once works for any number of chunks, tokens and pairs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

LEAST = -1e4  # in place of minus infinity, because it fits into 16 bits


class PairStates(NamedTuple):
    """The chunks of pairs after the encoder, with c chunks, t tokens and p pairs."""

    layers: tuple[Tensor, ...]  # contextual vectors, the last layer last, (c, t, dimension) each
    query: Tensor  # 1 at the query's tokens except [CLS], [SEP] and markers, (c, t) float32
    document: Tensor  # 1 at the document's tokens except [SEP] and markers, (c, t) float32
    query_markers: Tensor  # 1 at markers in the query's segment, (c, t) float32
    document_markers: Tensor  # 1 at markers in the document's segment, (c, t) float32
    pairs: Tensor  # 1 if a chunk belongs to a pair, (p, c) float32

    @property
    def last(self) -> Tensor:
        """The last layer's vectors, (c, t, dimension)."""
        return self.layers[-1]

    @property
    def cls(self) -> Tensor:
        """The mean of the chunks' [CLS] vectors, (p, dimension) (Boytsov & Kolter, §3)."""
        return self.mean(self.last[:, 0])

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of values, (c, …), over the chunks of each pair, (p, …)."""
        summed = self.pairs @ values.flatten(1)
        return summed.reshape(-1, *values.shape[1:])

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of values, (c, n), over the chunks of each pair, (p, n)."""
        return (self.pairs @ values) / self.pairs.sum(1, keepdim=True)

    def largest(self, values: Tensor) -> Tensor:
        """Return the largest of values, (c, n), over the chunks of each pair, (p, n)."""
        absent = (self.pairs == 0).unsqueeze(2)  # (p, c, 1)
        return values.unsqueeze(0).masked_fill(absent, LEAST).amax(1)

    def first(self, values: Tensor) -> Tensor:
        """Return the values, (c, n), of the first chunk of each pair, (p, n)."""
        return self.first_where(values, torch.ones_like(values[:, :1]))

    def first_where(self, values: Tensor, allowed: Tensor) -> Tensor:
        """Return the values, (c, n), of each pair's first allowed chunk, or zeros, (p, n).

        `allowed` is 1 or 0, (c, 1) float32.
        """
        return mask_first(self.pairs * allowed.squeeze(1)) @ values

    def each_alone(self) -> "PairStates":
        """Return the same states with every chunk as its own pair."""
        numbers = torch.arange(self.last.shape[0], device=self.pairs.device)
        alone = (numbers.unsqueeze(1) == numbers).to(self.pairs.dtype)
        return self._replace(pairs=alone)

    def query_tokens(self, states: Tensor, slots: Tensor | int) -> tuple[Tensor, Tensor]:
        """Return a layer's vectors of the query's tokens, without the gaps that markers leave.

        So the i-th query token has the same position in all chunks, whichever words are marked.

        Args:
            states: vectors of a layer, (c, t, dimension) float32.
            slots: number of positions; later query tokens are left out.

        Returns:
            (c, slots, dimension), zeros after the last token; and 1 at tokens, (c, slots).
        """
        position = self.query.cumsum(1) - 1  # (c, t)
        slot = torch.arange(slots, device=states.device).to(states.dtype)  # type: ignore[arg-type]
        moves = (position.unsqueeze(1) == slot.unsqueeze(1)) * self.query.unsqueeze(1)
        return moves @ states, moves.sum(2)  # moves: (c, slots, t)

    @property
    def longest_query(self) -> Tensor:
        """Number of tokens of the longest query, at least 1, () int64."""
        return self.query.sum(1).amax().clamp(min=1).to(torch.int64)


def mask_first(mask: Tensor) -> Tensor:
    """Return the mask with only the first 1 of each row, (rows, n) float32."""
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
    """Find the tokens and markers of query and document.

    Args:
        layers: contextual vectors, (chunks, tokens, dimension) each.
        input_ids: (chunks, tokens) int64.
        attention_mask: 1 at tokens, 0 at padding, (chunks, tokens) int64.
        token_type_ids: 0 up to the first [SEP], then 1, (chunks, tokens) int64.
        pairs: 1 if a chunk belongs to a pair, (pairs, chunks) int64.
        special: ids of tokens that are not text, (n,) int64.
        markers: ids of the markers among the special tokens, (n,) int64.
    """
    present = attention_mask.float()
    in_document = present * token_type_ids.float()
    in_query = present - in_document
    marks = is_one_of(input_ids, markers)
    text = 1 - is_one_of(input_ids, special)
    return PairStates(
        tuple(layer.float() for layer in layers),
        in_query * text,
        in_document * text,
        in_query * marks,
        in_document * marks,
        pairs.float(),
    )


def is_one_of(ids: Tensor, wanted: Tensor) -> Tensor:
    """Return 1 at ids, (…) int64, that are among those wanted, (…) float32."""
    return (ids.unsqueeze(-1) == wanted).float().sum(-1).clamp(max=1)


def similarities(states: PairStates, slots: Tensor | int) -> tuple[list[Tensor], Tensor]:
    """Return the cosine of every query token and every document token per layer.

    This is the matrix S of CEDR (MacAvaney et al. 2019, §2.2); it is 0 at other tokens.

    Args:
        states: the chunks.
        slots: number of query tokens.

    Returns:
        (chunks, slots, tokens) float32 per layer; and 1 at query tokens, (chunks, slots).
    """
    cosines = []
    document = states.document.unsqueeze(1)  # (c, 1, t)
    text = (states.query + states.document).unsqueeze(2)  # (c, t, 1)
    for vectors in states.layers:
        # The vectors are normalised before they are multiplied, because onnxruntime fuses a layer's
        # attention only if exactly three matrix products read its input.
        units = normalize(vectors * text, dim=2)
        queries, query_mask = states.query_tokens(units, slots)
        cosines.append((queries @ units.transpose(1, 2)) * document)
    return cosines, query_mask
