"""CEDR-PACRR: convolutions over the similarity matrices, the best matches of each, and [CLS]."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import LEAST, PairStates, similarities

SIZES = (1, 2, 3)  # n of the n × n windows (Hui et al. 2017, §4)
FILTERS = 32
BEST = 2  # matches kept of each query token and size
HIDDEN = 32
MOST_SLOTS = 32  # query tokens that are looked at: the dense layers have a weight for each


class CedrPACRR(nn.Module):
    """score = F[best matches of each query token and n-gram size; mean [CLS]].

    The layers' similarity matrices are the channels of the convolutions (MacAvaney et al. 2019,
    §2.2). Query tokens have places, so the head is made for a number of them; those after it are
    left out.

    Args:
        name: of the head.
        sizes: of the backbone.
    """

    def __init__(self, name: str, sizes: HeadSizes) -> None:  # noqa: ARG002
        super().__init__()
        self._slots = min(sizes.query_tokens, MOST_SLOTS)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(sizes.layers, FILTERS, (size, size)) for size in SIZES
        )
        features = self._slots * len(SIZES) * BEST + sizes.hidden
        self.first = nn.Linear(features, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.third = nn.Linear(HIDDEN, 1)

    def forward(self, reading: PairStates) -> Tensor:
        """Return a score a pair, (pairs,) float32."""
        layers, held = similarities(reading, self._slots)
        channels = torch.stack(layers, dim=1)  # (chunks, layers, slots, tokens)
        asked = reading.largest(held).unsqueeze(2)  # (pairs, slots, 1)
        found = [
            best_of_pairs(reading, window_matches(channels, each, size)) * asked
            for each, size in zip(self.convolutions, SIZES, strict=True)
        ]  # (pairs, slots, best) each
        features = torch.cat([torch.cat(found, dim=2).flatten(1), reading.cls], dim=1)
        hidden = torch.relu(self.second(torch.relu(self.first(features))))
        scores: Tensor = self.third(hidden).squeeze(1)
        return scores


def window_matches(channels: Tensor, convolution: nn.Module, size: int) -> Tensor:
    """Return the largest of all filters for the window that begins at each pair of tokens.

    Args:
        channels: similarities, (chunks, layers, slots, tokens); 0 past the texts' ends.
        convolution: of size × size windows.
        size: of the windows.

    Returns:
        (chunks, slots, tokens).
    """
    widened = pad(channels, (0, size - 1, 0, size - 1))
    matches: Tensor = convolution(widened).amax(1)
    return matches


def best_of_pairs(reading: PairStates, matches: Tensor) -> Tensor:
    """Return the best matches of each query token in all of a pair's chunks, (pairs, slots, best).

    0 where the document has fewer tokens.

    Args:
        reading: tells document tokens, and whose the chunks are.
        matches: (chunks, slots, tokens).
    """
    absent = (reading.document == 0).unsqueeze(1)
    by_chunk = matches.masked_fill(absent, LEAST).topk(BEST, dim=2).values
    others = (reading.pairs == 0).unsqueeze(2).unsqueeze(3)  # (pairs, chunks, 1, 1)
    by_pair = by_chunk.unsqueeze(0).masked_fill(others, LEAST)  # (pairs, chunks, slots, best)
    best = by_pair.transpose(1, 2).flatten(2).topk(BEST, dim=2).values
    return best.masked_fill(best <= LEAST / 2, 0)


HEAD = CedrPACRR
