"""Marker pooling: a score from the vectors of the markers in place of [CLS]."""

import torch
from torch import Tensor, nn

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import LEAST, PairStates, first_of

DROPOUT = 0.1


class Markers(nn.Module):
    """score = w · tanh(W [h_q; h_d] + b) + c, h the pooled markers of a segment (001, eq. 7.6).

    The markers are those of all chunks of a pair; a segment without any gives zeros.

    Args:
        name: marker_avg, the mean; marker_max, the largest of each dimension; marker_first, the
            first one (001, §7.5).
        sizes: of the backbone.
    """

    def __init__(self, name: str, sizes: HeadSizes) -> None:
        super().__init__()
        self._pool = {
            "marker_avg": average, "marker_max": largest, "marker_first": first
        }[name]  # fmt: skip
        self.dense = nn.Linear(2 * sizes.hidden, 2 * sizes.hidden)
        self.dropout = nn.Dropout(DROPOUT)
        self.linear = nn.Linear(2 * sizes.hidden, 1)

    def forward(self, reading: PairStates) -> Tensor:
        """Return a score a pair, (pairs,) float32."""
        of_query = self._pool(reading, reading.query_markers)
        of_document = self._pool(reading, reading.document_markers)
        hidden = torch.tanh(self.dense(torch.cat([of_query, of_document], dim=1)))
        scores: Tensor = self.linear(self.dropout(hidden)).squeeze(1)
        return scores


def average(reading: PairStates, markers: Tensor) -> Tensor:
    """Return the mean of the markers' vectors, (pairs, dimension), of markers (chunks, tokens)."""
    summed = reading.sum((markers.unsqueeze(1) @ reading.last).squeeze(1))
    return summed / reading.sum(markers.sum(1, keepdim=True)).clamp(min=1)


def largest(reading: PairStates, markers: Tensor) -> Tensor:
    """Return the largest of each dimension over the markers, (pairs, dimension)."""
    marked = reading.last.masked_fill((markers == 0).unsqueeze(2), LEAST).amax(1)
    found = reading.largest(marked)
    return found.masked_fill(found <= LEAST / 2, 0)


def first(reading: PairStates, markers: Tensor) -> Tensor:
    """Return the vector of the first marker, (pairs, dimension)."""
    by_chunk = (first_of(markers).unsqueeze(1) @ reading.last).squeeze(1)
    return reading.first_where(by_chunk, markers.amax(1, keepdim=True))


HEAD = Markers
