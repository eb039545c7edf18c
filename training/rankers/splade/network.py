"""SPLADE's network (Formal et al. 2021, "SPLADE v2", arXiv 2109.10086)."""

from typing import Any

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.splade import SPLADESettings


def term_weights(logits: Tensor, attention_mask: Tensor) -> Tensor:
    """Return max_i ln(1 + ReLU(w_ij)) over the tokens i of each text (SPLADE v2, eq. 6).

    The logarithm and ReLU change no order, so the maximum comes first and saves two tensors of the
    size of the logits. Padding counts as 0, which ReLU would make of it.

    Args:
        logits: w, (texts, tokens, vocabulary) float32.
        attention_mask: 1 at tokens, 0 at padding, (texts, tokens) int64.

    >>> term_weights(torch.tensor([[[-1.0, 0.0], [-2.0, 1.0]]]), torch.tensor([[1, 1]]))
    tensor([[0.0000, 0.6931]])
    """
    return torch.log1p(torch.relu((logits * attention_mask.unsqueeze(-1)).amax(1)))


def flops(weights: Tensor) -> Tensor:
    """Return Σ_j (mean_i w_ij)² of texts i and terms j, the work of retrieval (SPLADE v2, eq. 4).

    >>> flops(torch.tensor([[1.0, 0.0], [3.0, 0.0]]))
    tensor(4.)
    """
    return weights.mean(0).square().sum()


class SPLADE(nn.Module):
    """Texts to sparse vectors: (texts, tokens) int64 each → (texts, vocabulary) float32.

    Args:
        encoder: a masked language model of transformers.
        settings: of the ranker. If its queries run no network, `head` has the weight of each term.
    """

    def __init__(self, encoder: Any, settings: SPLADESettings) -> None:
        super().__init__()
        fixed = settings.queries != "network"
        self.encoder, self.head = encoder, nn.Embedding(settings.vocabulary, 1) if fixed else None

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the term weights of documents, or of queries that run the network."""
        inputs = {"attention_mask": attention_mask, "token_type_ids": token_type_ids}
        return term_weights(self.encoder(input_ids, **inputs).logits.float(), attention_mask)

    def queries(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the term weights of queries."""
        if self.head is None:
            return self.forward(input_ids, attention_mask, token_type_ids)
        absent = torch.zeros((len(input_ids), self.head.num_embeddings), device=input_ids.device)
        # A term counts once. Padding has the id of [PAD], which has no weight.
        return absent.scatter(1, input_ids, 1.0) * torch.relu(self.head.weight.squeeze(1))
