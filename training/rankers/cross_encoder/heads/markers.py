"""Marker pooling: a score of the markers' vectors instead of [CLS]."""

import torch
from torch import Tensor, nn

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import LEAST, PairStates, mask_first

DROPOUT = 0.1


class Markers(nn.Module):
    """score = w · tanh(W [h_q; h_d] + b) + c, h a segment's pooled markers (Boualili, eq. 7.6).

    The markers of all chunks of a pair are pooled. A segment without markers gives zeros. The name
    of the head says how: by their mean, largest values or first marker (Boualili, §7.5).
    """

    def __init__(self, name: str, sizes: HeadSizes) -> None:
        super().__init__()
        self._pool = {
            "marker_avg": average, "marker_max": largest, "marker_first": first
        }[name]  # fmt: skip
        self.dense = nn.Linear(2 * sizes.hidden, 2 * sizes.hidden)
        self.dropout = nn.Dropout(DROPOUT)
        self.linear = nn.Linear(2 * sizes.hidden, 1)

    def forward(self, states: PairStates) -> Tensor:
        """Return one score per pair, (pairs,) float32."""
        of_query = self._pool(states, states.query_markers)
        of_document = self._pool(states, states.document_markers)
        hidden = torch.tanh(self.dense(torch.cat([of_query, of_document], dim=1)))
        scores: Tensor = self.linear(self.dropout(hidden)).squeeze(1)
        return scores


def average(states: PairStates, markers: Tensor) -> Tensor:
    """Return the mean of the markers' vectors, (pairs, dimension); markers is (chunks, tokens)."""
    summed = states.sum((markers.unsqueeze(1) @ states.last).squeeze(1))
    return summed / states.sum(markers.sum(1, keepdim=True)).clamp(min=1)


def largest(states: PairStates, markers: Tensor) -> Tensor:
    """Return the largest value of each dimension over the markers, (pairs, dimension)."""
    marked = states.last.masked_fill((markers == 0).unsqueeze(2), LEAST).amax(1)
    pooled = states.largest(marked)
    return pooled.masked_fill(pooled <= LEAST / 2, 0)


def first(states: PairStates, markers: Tensor) -> Tensor:
    """Return the vector of the first marker, (pairs, dimension)."""
    by_chunk = (mask_first(markers).unsqueeze(1) @ states.last).squeeze(1)
    return states.first_where(by_chunk, markers.amax(1, keepdim=True))


HEAD = Markers
