"""BERT-Model1: neural Model 1 over contextual vectors, which explains matches by tokens."""

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.cross_encoder.ranker import FLOOR
from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates
from ranklet.training.rankers.neural_model1.network import PairNetwork

VECTOR, HIDDEN = 64, (64, 32)  # sizes of the context-free network


class Model1Head(PairNetwork):
    """log P(Q|D) = Σ_q log (1/|D| Σ_i T(q|d_i)), T of contextual vectors (Boytsov & Kolter, eq. 4).

    [CLS] is not used. With several chunks, d_i runs over the tokens of all chunks, and each is
    compared with the query's vectors in its own chunk, because the paper does not say in which.
    """

    def __init__(self, name: str, sizes: HeadSizes) -> None:  # noqa: ARG002
        super().__init__()
        self.query_norm, self.document_norm = nn.LayerNorm(sizes.hidden), nn.LayerNorm(sizes.hidden)
        self.query_projection = nn.Linear(sizes.hidden, VECTOR)
        self.document_projection = nn.Linear(sizes.hidden, VECTOR)
        self.make_layers(VECTOR, HIDDEN)

    def translations(self, states: PairStates) -> tuple[Tensor, Tensor]:
        """Return T(q|d), and which query tokens exist.

        Returns:
            (chunks, query tokens, tokens) float32, 0 if d is not a token of the document; and 1 at
            query tokens, (chunks, query tokens) float32.
        """
        queries, query_mask = states.query_tokens(states.last, states.longest_query)
        x_q = self.query_projection(torch.tanh(self.query_norm(queries)))
        x_d = self.document_projection(torch.tanh(self.document_norm(states.last)))
        translations = self.compare_vectors(x_q, x_d)
        return translations * states.document.unsqueeze(1), query_mask

    def scores(self, states: PairStates, translations: Tensor, query_mask: Tensor) -> Tensor:
        """Return log P(Q|D) of each pair, (pairs,) float32, from the results of `translations`."""
        sums = states.sum(translations.sum(2))  # (pairs, query tokens)
        lengths = states.sum(states.document.sum(1, keepdim=True))  # (pairs, 1)
        return log_likelihoods(sums, lengths, states.largest(query_mask)).sum(1)

    def forward(self, states: PairStates) -> Tensor:
        """Return one score per pair, (pairs,) float32."""
        return self.scores(states, *self.translations(states))


def log_likelihoods(sums: Tensor, lengths: Tensor, query_mask: Tensor) -> Tensor:
    """Return log P(q|D), 0 where no token q exists (Boytsov & Kolter, eq. 4).

    Args:
        sums: Σ_i T(q|d_i), (pairs, query tokens).
        lengths: |D|, (pairs, 1).
        query_mask: 1 at query tokens, (pairs, query tokens).
    """
    return torch.log(sums / lengths.clamp(min=1) + FLOOR) * query_mask


HEAD = Model1Head
