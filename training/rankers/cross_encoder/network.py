"""The network of a cross-encoder: an encoder over pairs, a head, and one score of many chunks."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.cross_encoder.heads.model1 import Model1Head
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates, make_pair_states


class CrossNetwork(nn.Module):
    """Pairs of a query and a document to scores.

    Args:
        encoder: a BERT-like model of transformers.
        head: out of training/heads.
        layers: of the encoder that the head reads, from the last one; 1 for only that.
        combine: head, where it sees all chunks of a pair as one; first, max or mean of the scores
            that it gives each chunk (001, §7.2.3).
        special: ids of tokens that are no text.
        markers: ids of the markers among them.
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
        # They follow from the tokenizer, so a checkpoint need not hold them.
        self.register_buffer("special", torch.tensor(special, dtype=torch.int64), persistent=False)
        self.register_buffer("markers", torch.tensor(markers, dtype=torch.int64), persistent=False)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pairs: Tensor
    ) -> Tensor:
        """Return the scores, (pairs,) float32.

        Args:
            input_ids: a chunk a row, (chunks, tokens) int64.
            attention_mask: (chunks, tokens) int64, 1 at tokens and 0 at padding.
            token_type_ids: (chunks, tokens) int64, 0 up to the first [SEP], then 1.
            pairs: (pairs, chunks) int64, 1 where a chunk is of a pair.
        """
        reading = self.read(input_ids, attention_mask, token_type_ids, pairs)
        with full_precision(input_ids.device):  # bfloat16 knows 3 digits: margins are lost in it
            return self.score(reading)

    def read(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pairs: Tensor
    ) -> PairStates:
        """Return what the head reads."""
        found = self.encoder(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            output_hidden_states=self._layers > 1,
        )
        layers = found.hidden_states[-self._layers :] if self._layers > 1 else ()
        layers = layers or (found.last_hidden_state,)
        return make_pair_states(
            layers, input_ids, attention_mask, token_type_ids, pairs, self.special, self.markers
        )

    def score(self, reading: PairStates) -> Tensor:
        """Return the score of each pair, (pairs,) float32."""
        if self._combine == "head":
            whole: Tensor = self.head(reading)
            return whole
        scores = self.head(reading.each_alone()).unsqueeze(1)  # (chunks, 1)
        combined = {"first": reading.first, "max": reading.largest, "mean": reading.mean}
        return combined[self._combine](scores).squeeze(1)


class ExplainedNetwork(nn.Module):
    """The same with BERT-Model1's translations as a second output, for explanations.

    Args:
        network: with that head.
        head: of the network.
    """

    def __init__(self, network: CrossNetwork, head: Model1Head) -> None:
        super().__init__()
        self.network, self._translations = network, head.translations

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pairs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return scores, (pairs,), and T(q|d), (chunks, query tokens, tokens); float32 both.

        The translations stand in the graph twice; onnxruntime finds that and computes them once.
        """
        reading = self.network.read(input_ids, attention_mask, token_type_ids, pairs)
        return self.network.score(reading), self._translations(reading)[0]
