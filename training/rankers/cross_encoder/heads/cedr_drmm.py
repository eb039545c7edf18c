"""CEDR-DRMM: a histogram of similarities for each query token, layer by layer, and [CLS]."""

import torch
from torch import Tensor, nn

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates, similarities

BINS = 11  # centres from −1 to 1, so one stands at exact matches
HIDDEN = 5  # as in Guo et al. 2016, §4.2


class CedrDRMM(nn.Module):
    """score = Σ_i g_i · F(log histogram_i of each layer; mean [CLS]) (MacAvaney et al. 2019, §2.2).

    g is a softmax over the query's tokens, from their contextual vectors (Guo et al. 2016, eq. 4
    with term vectors).

    Args:
        name: of the head.
        sizes: of the backbone.
    """

    def __init__(self, name: str, sizes: HeadSizes) -> None:  # noqa: ARG002
        super().__init__()
        self.first = nn.Linear(sizes.layers * BINS + sizes.hidden, HIDDEN)
        self.second = nn.Linear(HIDDEN, 1)
        self.gate = nn.Linear(sizes.hidden, 1, bias=False)
        nn.init.zeros_(self.gate.weight)  # all tokens count alike at first

    def forward(self, reading: PairStates) -> Tensor:
        """Return a score a pair, (pairs,) float32."""
        slots = reading.longest_query
        layers, held = similarities(reading, slots)
        asked = reading.largest(held)  # 1 at query tokens, (pairs, query tokens)
        histograms = [
            torch.log1p(reading.sum(soft_histogram(each, reading.document))) for each in layers
        ]  # (pairs, query tokens, bins) each
        # A first layer over [histograms; CLS] is the sum of one over each: CLS is the same for all
        # of a pair's tokens, so it is not repeated for them.
        split = len(layers) * BINS
        by_token = torch.cat(histograms, dim=2) @ self.first.weight[:, :split].T + self.first.bias
        by_pair = reading.cls @ self.first.weight[:, split:].T
        scores = self.second(torch.relu(by_token + by_pair.unsqueeze(1))).squeeze(2)
        gates = self.gates(reading, slots, asked)
        weighted: Tensor = (scores * gates).sum(1)
        return weighted

    def gates(self, reading: PairStates, slots: Tensor, asked: Tensor) -> Tensor:
        """Return g, (pairs, query tokens), which sums to 1 over the query's tokens."""
        queries, _ = reading.query_tokens(reading.last, slots)  # (chunks, query tokens, dimension)
        logits = reading.mean(self.gate(queries).squeeze(2))
        weights = torch.exp(logits - logits.amax(1, keepdim=True)) * asked
        return weights / weights.sum(1, keepdim=True).clamp(min=1e-9)


def soft_histogram(cosines: Tensor, document: Tensor) -> Tensor:
    """Return how many similarities lie in each bin, each shared by the two bins nearest to it.

    Guo et al. 2016 (§4.1) count whole ones. Shared ones have a gradient, and change with a
    similarity as little as it does: a value at the edge of a bin cannot jump to the other for the
    rounding of another runtime. And they are made of subtraction and maximum, which every exporter
    knows.

    Args:
        cosines: (chunks, query tokens, tokens), in [−1, 1].
        document: 1 at document tokens, (chunks, tokens).

    Returns:
        (chunks, query tokens, bins); the bins sum to the number of document tokens.
    """
    centres = torch.linspace(-1, 1, BINS, device=cosines.device)
    steps = (cosines.clamp(-1, 1).unsqueeze(3) - centres).abs() * ((BINS - 1) / 2)
    shares = torch.relu(1 - steps)  # (chunks, query tokens, tokens, bins)
    return (shares * document.unsqueeze(1).unsqueeze(3)).sum(2)


HEAD = CedrDRMM
