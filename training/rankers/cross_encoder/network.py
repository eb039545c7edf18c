"""The network of a cross-encoder: an encoder of pairs, a head, and one score for all chunks."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.cross_encoder.heads.model1 import Model1Head
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates, make_pair_states


class CrossNetwork(nn.Module):
    """Score pairs of a query and a document.

    Args:
        encoder: a BERT-like model of transformers.
        head: a head from the package heads.
        layers: number of last layers that the head reads.
        combine: head if the head reads all chunks of a pair together; first, max or mean of the
            chunks' own scores otherwise (Boualili, §7.2.3).
        special: ids of tokens that are not text.
        markers: ids of the markers among the special tokens.
    """

    def __init__(
        self,
        encoder: nn.Module,
        head: nn.Module,
        layers: int,
        combine: str,
        special: Sequence[int],
        markers: Sequence[int],
    ) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self._layers, self._combine = layers, combine
        self.special: Tensor
        self.markers: Tensor
        # Both follow from the tokenizer, so a checkpoint does not store them.
        self.register_buffer("special", torch.tensor(special, dtype=torch.int64), persistent=False)
        self.register_buffer("markers", torch.tensor(markers, dtype=torch.int64), persistent=False)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pairs: Tensor
    ) -> Tensor:
        """Return the scores, (pairs,) float32.

        Args:
            input_ids: one chunk per row, (chunks, tokens) int64.
            attention_mask: (chunks, tokens) int64, 1 at tokens and 0 at padding.
            token_type_ids: (chunks, tokens) int64, 0 up to the first [SEP], then 1.
            pairs: (pairs, chunks) int64, 1 if a chunk belongs to a pair.
        """
        states = self.read(input_ids, attention_mask, token_type_ids, pairs)
        with full_precision(input_ids.device):  # bfloat16 has 3 digits, which lose the margin
            return self.score(states)

    def read(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pairs: Tensor
    ) -> PairStates:
        """Return the states that the head reads; arguments as for `forward`."""
        output = self.encoder(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            output_hidden_states=self._layers > 1,
        )
        layers = output.hidden_states[-self._layers :] if self._layers > 1 else ()
        layers = layers or (output.last_hidden_state,)
        return make_pair_states(
            layers, input_ids, attention_mask, token_type_ids, pairs, self.special, self.markers
        )

    def explained(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores, (pairs,), and T(q|d), (chunks, query tokens, tokens), both float32.

        This is for the head model1; inputs are those of `forward`. The translations occur twice in
        the graph; onnxruntime computes them once.
        """
        states, head = self.read(*inputs), cast(Model1Head, self.head)
        return self.score(states), head.translations(states)[0]

    def score(self, states: PairStates) -> Tensor:
        """Return the score of each pair, (pairs,) float32."""
        if self._combine == "head":
            scores: Tensor = self.head(states)
            return scores
        by_chunk = self.head(states.each_alone()).unsqueeze(1)  # (chunks, 1)
        combined = {"first": states.first, "max": states.largest, "mean": states.mean}
        return combined[self._combine](by_chunk).squeeze(1)
