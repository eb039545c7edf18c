"""BERT-Model1: neural Model 1 over contextual vectors, which tells which token explains which."""

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.cross_encoder.explanation import FLOOR
from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates
from ranklet.training.rankers.neural_model1.network import PairNetwork

VECTOR, HIDDEN = 64, (64, 32)  # as the context-free network


class Model1Head(PairNetwork):
    """log P(Q|D) = Σ_q log (1/|D| Σ_i T(q|d_i)), T of contextual vectors (paper 000, eq. 4).

    [CLS] is not used. With several chunks d_i runs over the tokens of all of them, and each is
    compared with the query's vectors from its own chunk: the paper does not say from which.

    Args:
        name: of the head.
        sizes: of the backbone.
    """

    def __init__(self, name: str, sizes: HeadSizes) -> None:  # noqa: ARG002
        super().__init__()
        self.query_norm, self.document_norm = nn.LayerNorm(sizes.hidden), nn.LayerNorm(sizes.hidden)
        self.query_projection = nn.Linear(sizes.hidden, VECTOR)
        self.document_projection = nn.Linear(sizes.hidden, VECTOR)
        self.make_layers(VECTOR, HIDDEN)

    def translations(self, reading: PairStates) -> tuple[Tensor, Tensor]:
        """Return T(q|d), and which query tokens there are.

        Returns:
            (chunks, query tokens, tokens) float32, 0 where d is no token of the document; and 1 at
            query tokens, (chunks, query tokens) float32.
        """
        queries, held = reading.query_tokens(reading.last, reading.longest_query)
        x_q = self.query_projection(torch.tanh(self.query_norm(queries)))
        x_d = self.document_projection(torch.tanh(self.document_norm(reading.last)))
        found = self.of_vectors(x_q, x_d)
        return found * reading.document.unsqueeze(1), held

    def scores(self, reading: PairStates, translations: Tensor, held: Tensor) -> Tensor:
        """Return log P(Q|D) of each pair, (pairs,) float32, out of what `translations` gave."""
        sums = reading.sum(translations.sum(2))  # (pairs, query tokens)
        lengths = reading.sum(reading.document.sum(1, keepdim=True))  # (pairs, 1)
        return log_likelihoods(sums, lengths, reading.largest(held)).sum(1)

    def forward(self, reading: PairStates) -> Tensor:
        """Return a score a pair, (pairs,) float32."""
        return self.scores(reading, *self.translations(reading))


def log_likelihoods(sums: Tensor, lengths: Tensor, held: Tensor) -> Tensor:
    """Return log P(q|D), 0 where there is no token q (paper 000, eq. 4).

    Args:
        sums: Σ_i T(q|d_i), (pairs, query tokens).
        lengths: |D|, (pairs, 1).
        held: 1 at query tokens, (pairs, query tokens).
    """
    return torch.log(sums / lengths.clamp(min=1) + FLOOR) * held


HEAD = Model1Head
