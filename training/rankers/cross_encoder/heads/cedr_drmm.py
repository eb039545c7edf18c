"""CEDR-DRMM: histograms of similarities per query token and layer, and [CLS]."""

import torch
from torch import Tensor, nn

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates, similarities

BINS = 11  # centred from −1 to 1, so that one bin is for exact matches
HIDDEN = 5  # as in Guo et al. 2016, §4.2


class CedrDRMM(nn.Module):
    """score = Σ_i g_i · F(log histogram_i of each layer; mean [CLS]) (MacAvaney et al. 2019, §2.2).

    g is a softmax over the query's tokens of their contextual vectors (Guo et al. 2016, eq. 4 with
    term vectors).
    """

    def __init__(self, name: str, sizes: HeadSizes) -> None:  # noqa: ARG002
        super().__init__()
        self.first = nn.Linear(sizes.layers * BINS + sizes.hidden, HIDDEN)
        self.second = nn.Linear(HIDDEN, 1)
        self.gate = nn.Linear(sizes.hidden, 1, bias=False)
        nn.init.zeros_(self.gate.weight)  # so that all tokens count the same at first

    def forward(self, states: PairStates) -> Tensor:
        """Return one score per pair, (pairs,) float32."""
        slots = states.longest_query
        layers, chunk_mask = similarities(states, slots)
        query_mask = states.largest(chunk_mask)  # 1 at query tokens, (pairs, query tokens)
        histograms = [
            torch.log1p(states.sum(soft_histogram(layer, states.document))) for layer in layers
        ]  # (pairs, query tokens, bins) each
        # A linear layer over [histograms; CLS] is the sum of two layers. CLS is the same for all
        # tokens of a pair, so its layer runs once per pair.
        split = len(layers) * BINS
        by_token = torch.cat(histograms, dim=2) @ self.first.weight[:, :split].T + self.first.bias
        by_pair = states.cls @ self.first.weight[:, split:].T
        scores = self.second(torch.relu(by_token + by_pair.unsqueeze(1))).squeeze(2)
        gates = self.gates(states, slots, query_mask)
        weighted: Tensor = (scores * gates).sum(1)
        return weighted

    def gates(self, states: PairStates, slots: Tensor, query_mask: Tensor) -> Tensor:
        """Return g, (pairs, query tokens), which sums to 1 over the tokens of a query."""
        queries, _ = states.query_tokens(states.last, slots)  # (chunks, query tokens, dimension)
        logits = states.mean(self.gate(queries).squeeze(2))
        weights = torch.exp(logits - logits.amax(1, keepdim=True)) * query_mask
        return weights / weights.sum(1, keepdim=True).clamp(min=1e-9)


def soft_histogram(cosines: Tensor, document: Tensor) -> Tensor:
    """Return a histogram in which every similarity is shared by its two nearest bins.

    In Guo et al. 2016 (§4.1) a similarity counts in one bin. Sharing it has a gradient and is
    continuous, so a value at the edge of two bins does not jump when another runtime rounds
    differently. It needs only subtraction and maximum, which every exporter supports.

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
