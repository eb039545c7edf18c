"""CEDR-PACRR: the best matches after convolutions over the similarities, and [CLS]."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates, similarities

SIZES = (1, 2, 3)  # n of the n × n windows (Hui et al. 2017, §4)
FILTERS = 32
BEST = 2  # matches kept per query token and window size
HIDDEN = 32
MOST_SLOTS = 32  # maximum number of query tokens, because the dense layers have weights for each


class CedrPACRR(nn.Module):
    """score = F[best matches of each query token and n-gram size; mean [CLS]].

    The layers' similarity matrices are the channels of the convolutions (MacAvaney et al. 2019,
    §2.2). The head has weights per query position, so it reads only the first query tokens.
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

    def forward(self, states: PairStates) -> Tensor:
        """Return one score per pair, (pairs,) float32."""
        layers, chunk_mask = similarities(states, self._slots)
        channels = torch.stack(layers, dim=1)  # (chunks, layers, slots, tokens)
        query_mask = states.largest(chunk_mask).unsqueeze(2)  # (pairs, slots, 1)
        best = [
            best_pair_matches(states, window_matches(channels, convolution, size)) * query_mask
            for convolution, size in zip(self.convolutions, SIZES, strict=True)
        ]  # (pairs, slots, best) each
        features = torch.cat([torch.cat(best, dim=2).flatten(1), states.cls], dim=1)
        hidden = torch.relu(self.second(torch.relu(self.first(features))))
        scores: Tensor = self.third(hidden).squeeze(1)
        return scores


def window_matches(channels: Tensor, convolution: nn.Module, size: int) -> Tensor:
    """Return the largest output of all filters for the window that starts at each pair of tokens.

    An output below 0 counts as 0, as in the code of CEDR's authors.

    Args:
        channels: similarities, (chunks, layers, slots, tokens), 0 beyond the ends of the texts.
        convolution: convolution over windows of size × size.
        size: size of the windows.

    Returns:
        (chunks, slots, tokens).
    """
    widened = pad(channels, (0, size - 1, 0, size - 1))
    matches: Tensor = torch.relu(convolution(widened)).amax(1)
    return matches


def best_pair_matches(states: PairStates, matches: Tensor) -> Tensor:
    """Return the best matches of each query token in a pair's chunks, (pairs, slots, best).

    They are 0 if the document has fewer tokens.

    Args:
        states: which tokens are the documents', and which chunks belong to which pair.
        matches: (chunks, slots, tokens), at least 0.
    """
    by_chunk = (matches * states.document.unsqueeze(1)).topk(BEST, dim=2).values
    by_pair = by_chunk * states.pairs.unsqueeze(2).unsqueeze(3)  # (pairs, chunks, slots, best)
    best: Tensor = by_pair.transpose(1, 2).flatten(2).topk(BEST, dim=2).values
    return best


HEAD = CedrPACRR
