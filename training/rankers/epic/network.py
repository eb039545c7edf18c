"""EPIC's network: importance of terms, expansion over the vocabulary, quality of a document.

Source: MacAvaney et al. 2020 (paper 003), §2.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


def importance(logits: Tensor) -> Tensor:
    """Return ln(1 + softplus(x)): above 0, without bound, and slow to grow (003, eq. 1 and 2).

    >>> [f"{value:.3f}" for value in importance(torch.tensor([0.0, 100.0])).tolist()]
    ['0.527', '4.615']
    """
    return torch.log1p(softplus(logits))


class EPICHead(nn.Module):
    """The parameters that EPIC adds to an encoder; none has a bias.

    Args:
        hidden: e, size of the encoder's vectors.
        vocabulary: |V|.
        special: ids that are no terms: [CLS] and the like.
    """

    is_term: Tensor

    def __init__(self, hidden: int, vocabulary: int, special: Sequence[int]) -> None:
        super().__init__()
        self.query_importance = nn.Linear(hidden, 1, bias=False)  # θ1
        self.expansion = nn.Linear(hidden, vocabulary, bias=False)  # Θ2
        self.document_importance = nn.Linear(hidden, 1, bias=False)  # θ3
        self.quality = nn.Linear(hidden, 1, bias=False)  # θ4
        is_term = torch.ones(vocabulary)
        is_term[list(special)] = 0
        self.register_buffer("is_term", is_term, persistent=False)  # (vocabulary,) 1 or 0


class EPIC(nn.Module):
    """Texts to sparse vectors. Queries and documents share the encoder.

    Args:
        encoder: a BERT-like model of transformers.
        head: of the same sizes.
    """

    def __init__(self, encoder: nn.Module, head: EPICHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def states(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return f(s), (batch, tokens, hidden) float32; inputs are (batch, tokens) int64 each."""
        found: Tensor = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        return found.float()

    def query(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return w_q of each token, 0 where it is no term; (batch, tokens) float32 (003, eq. 1)."""
        states = self.states(input_ids, attention_mask, token_type_ids)
        weights = importance(self.head.query_importance(states).squeeze(-1))
        return weights * self._terms(input_ids, attention_mask)

    def document(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, terms: Tensor
    ) -> Tensor:
        """Return φ_d at some terms of the vocabulary, (batch, terms) float32 (003, eq. 2 to 4).

        For training: a dot product asks only for the query's terms, and the expansion to these
        costs a hundredth of that to all. A document without a term has zeros.

        Args:
            input_ids: (batch, tokens) int64, as the next two.
            attention_mask: 1 at tokens, 0 at padding.
            token_type_ids: segments.
            terms: ids, (terms,) int64.
        """
        states = self.states(input_ids, attention_mask, token_type_ids)
        weights = importance(self.head.document_importance(states))  # (batch, tokens, 1)
        expanded = states @ self.head.expansion.weight[terms].T.to(states.dtype)  # ψ
        is_term = self._terms(input_ids, attention_mask).bool().unsqueeze(-1)
        best = (weights * expanded).masked_fill(~is_term, -torch.inf).amax(1)
        best = torch.where(is_term.any(1), best, torch.zeros_like(best))
        return torch.sigmoid(self.head.quality(states[:, 0])) * best * self.head.is_term[terms]

    def _terms(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return 1 where a token is a term of the text, 0 elsewhere; (batch, tokens) float32."""
        return self.head.is_term[input_ids] * attention_mask.to(self.head.is_term.dtype)


class QueryEncoder(nn.Module):
    """What is exported for queries: `EPIC.query`."""

    def __init__(self, network: EPIC) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return importances, (batch, tokens) float32."""
        return self.network.query(input_ids, attention_mask, token_type_ids)


class DocumentEncoder(nn.Module):
    """What is exported for documents: φ_d above each term's floor, over the whole vocabulary.

    A floor is taken from all documents alike, so it moves none before another; what is not above
    it is 0. [CLS] is always there, and a token that is no term has the weight 0, so the maximum
    over all tokens is never below 0, and no floor should be: less would be pruned, and is already.
    Expansion is linear, so a token is weighed before it and not behind: each saves a pass over a
    tensor of tokens × vocabulary.

    Args:
        network: of both encoders.
        floors: of each term, ≥ 0, (vocabulary,) float32; None for 0.
    """

    floors: Tensor | None

    def __init__(self, network: EPIC, floors: Tensor | None = None) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("floors", floors, persistent=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return max(0, φ_d − floor), (batch, vocabulary) float32."""
        network, head = self.network, self.network.head
        states = network.states(input_ids, attention_mask, token_type_ids)
        weights = importance(head.document_importance(states))  # (batch, tokens, 1)
        weights = weights * network._terms(input_ids, attention_mask).unsqueeze(-1)
        best = head.expansion(states * weights).amax(1)
        found: Tensor = torch.sigmoid(head.quality(states[:, 0])) * best * head.is_term
        return found if self.floors is None else torch.relu(found - self.floors)
