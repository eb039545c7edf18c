"""SPLADE's network (Formal et al. 2021, "SPLADE v2", arXiv 2109.10086)."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.rankers.learned_sparse import INPUTS
from ranklet.runtime.rankers.splade import SPLADESettings
from ranklet.training.imported.encoder import takes_token_types

# Key in config.json: how logits become the weights of terms. Without it they are SPLADE v2's.
POOLING = "ranklet_pooling"
SPLADE_V2: Mapping[str, str] = {"pooling": "max", "activation": "relu"}
POOLINGS = ("max", "sum")
ACTIVATIONS = ("relu", "log1p_relu")


def term_weights(
    logits: Tensor, attention_mask: Tensor, pooling: str = "max", activation: str = "relu"
) -> Tensor:
    """Return max_i ln(1 + ReLU(w_ij)) over the tokens i of each text (SPLADE v2, eq. 6).

    The logarithm and ReLU change no order, so the maximum comes first and saves two tensors of the
    size of the logits. Padding counts as 0, which ReLU would make of it.

    Args:
        logits: w, (texts, tokens, vocabulary) float32.
        attention_mask: 1 at tokens, 0 at padding, (texts, tokens) int64.
        pooling: max, or the sum over the tokens (Formal et al. 2021, arXiv 2107.05720, eq. 1).
        activation: relu, or log1p_relu for ln(1 + ln(1 + ReLU(w))) (arXiv 2504.14839).

    >>> term_weights(torch.tensor([[[-1.0, 0.0], [-2.0, 1.0]]]), torch.tensor([[1, 1]]))
    tensor([[0.0000, 0.6931]])
    """
    shown = logits * attention_mask.unsqueeze(-1)
    weights = torch.log1p(torch.relu(shown.amax(1) if pooling == "max" else shown))
    if activation == "log1p_relu":
        weights = torch.log1p(weights)
    return weights if pooling == "max" else weights.sum(1)


def flops(weights: Tensor) -> Tensor:
    """Return Σ_j (mean_i w_ij)² of texts i and terms j, the work of retrieval (SPLADE v2, eq. 4).

    >>> flops(torch.tensor([[1.0, 0.0], [3.0, 0.0]]))
    tensor(4.)
    """
    return weights.mean(0).square().sum()


class SPLADE(nn.Module):
    """Texts to sparse vectors: (texts, tokens) int64 each → (texts, vocabulary) float32.

    Args:
        encoder: a masked language model of transformers, whose config may have `POOLING`.
        settings: the ranker's settings. If its queries run no network, `head` has the weight of
            each term.

    Raises:
        ModelFolderError: the pooling or the activation is unknown.
    """

    def __init__(self, encoder: Any, settings: SPLADESettings) -> None:
        super().__init__()
        fixed = settings.queries != "network"
        self.encoder, self.head = encoder, nn.Embedding(settings.vocabulary, 1) if fixed else None
        self.inputs = INPUTS if takes_token_types(encoder) else INPUTS[:2]
        self._pooling = {**SPLADE_V2, **getattr(encoder.config, POOLING, {})}
        check_pooling(**self._pooling)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the term weights of documents, or of queries that run the network."""
        return self.pooled(self.logits(input_ids, attention_mask, token_type_ids), attention_mask)

    def logits(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the logits of each term at each token, (texts, tokens, vocabulary) float32."""
        inputs = {"attention_mask": attention_mask}
        if token_type_ids is not None and len(self.inputs) == len(INPUTS):
            inputs["token_type_ids"] = token_type_ids
        found: Tensor = self.encoder(input_ids, **inputs).logits.float()
        return found

    def pooled(self, logits: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the term weights of texts by the logits at their tokens."""
        return term_weights(logits, attention_mask, **self._pooling)

    def queries(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the term weights of queries."""
        if self.head is None:
            return self.forward(input_ids, attention_mask, token_type_ids)
        absent = torch.zeros((len(input_ids), self.head.num_embeddings), device=input_ids.device)
        # A term counts once. Padding has the id of [PAD], which has no weight.
        return absent.scatter(1, input_ids, 1.0) * torch.relu(self.head.weight.squeeze(1))


def check_pooling(pooling: str, activation: str) -> None:
    """Raise ModelFolderError unless `term_weights` knows the pooling and the activation."""
    for value, allowed in ((pooling, POOLINGS), (activation, ACTIVATIONS)):
        if value not in allowed:
            raise ModelFolderError(
                f"a sparse encoder with {value!r} is not supported; {' and '.join(allowed)} are"
            )
