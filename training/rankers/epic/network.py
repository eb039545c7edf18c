"""The network of EPIC: importance of terms, expansion to the vocabulary, quality of documents.

Source: MacAvaney et al. 2020, §2.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear, softplus


def importance(logits: Tensor) -> Tensor:
    """Return ln(1 + softplus(x)), positive and slow to grow (MacAvaney et al., eq. 1 and 2).

    The authors' code has it around the predictions of the vocabulary (eq. 3), too, which makes most
    of them nearly 0.

    >>> [f"{value:.3f}" for value in importance(torch.tensor([0.0, 100.0])).tolist()]
    ['0.527', '4.615']
    """
    return torch.log1p(softplus(logits))


_LOW = -1e4  # the prediction of a text without terms


class EPICHead(nn.Module):
    """The layers that EPIC adds to an encoder.

    The expansion is the whole head of a masked language model: a layer, GELU and a norm, and then
    the prediction matrix with its bias (the authors' code, where the paper has the matrix alone).

    Args:
        hidden: e, the size of the encoder's vectors.
        vocabulary: |V|, the number of tokens.
        special: ids of special tokens such as [CLS], which are not terms.
    """

    is_term: Tensor

    def __init__(self, hidden: int, vocabulary: int, special: Sequence[int]) -> None:
        super().__init__()
        self.query_importance = nn.Linear(hidden, 1)  # θ1
        self.dense = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)  # as BERT's
        self.expansion = nn.Linear(hidden, vocabulary)  # Θ2
        self.document_importance = nn.Linear(hidden, 1)  # θ3
        self.quality = nn.Linear(hidden, 1)  # θ4
        is_term = torch.ones(vocabulary)
        is_term[list(special)] = 0
        self.register_buffer("is_term", is_term, persistent=False)  # (vocabulary,) 1 or 0

    def transform(self, states: Tensor) -> Tensor:
        """Return what the vocabulary is predicted of, (batch, tokens, hidden) float32."""
        transformed: Tensor = self.norm(gelu(self.dense(states)))
        return transformed


class EPIC(nn.Module):
    """Encode texts as sparse vectors; queries and documents share the encoder.

    Args:
        encoder: a BERT-like model of transformers.
        head: EPIC's layers, of the encoder's sizes.
    """

    def __init__(self, encoder: nn.Module, head: EPICHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def states(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return f(s), (batch, tokens, hidden) float32; inputs are (batch, tokens) int64 each."""
        states: Tensor = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        return states.float()

    def query(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return w_q, 0 for what is no term, (batch, tokens) float32 (MacAvaney et al., eq. 1)."""
        states = self.states(input_ids, attention_mask, token_type_ids)
        weights = importance(self.head.query_importance(states).squeeze(-1))
        return weights * self._terms(input_ids, attention_mask)

    def document(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        terms: Tensor | None = None,
    ) -> Tensor:
        """Return φ_d, (batch, terms) float32 (MacAvaney et al., eq. 2 to 4).

        Training asks for some terms, because a dot product needs only the query's, and expanding to
        them costs a hundredth of expanding to the vocabulary. A document without terms gets zeros.

        Args:
            input_ids: (batch, tokens) int64.
            attention_mask: (batch, tokens) int64, 1 at tokens and 0 at padding.
            token_type_ids: (batch, tokens) int64, the segments.
            terms: ids of the terms, (terms,) int64; None for the vocabulary.
        """
        states = self.states(input_ids, attention_mask, token_type_ids)
        weights = importance(self.head.document_importance(states))  # (batch, tokens, 1)
        weights = weights * self._terms(input_ids, attention_mask).unsqueeze(-1)
        theta: Tensor = self.head.expansion.weight
        bias: Tensor = self.head.expansion.bias
        is_term = self.head.is_term
        if terms is not None:
            theta, bias, is_term = theta[terms], bias[terms], is_term[terms]
        best = (weights * importance(linear(self.head.transform(states), theta, bias))).amax(1)
        return torch.sigmoid(self.head.quality(states[:, 0])) * best * is_term

    def predictions(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> Tensor:
        """Return the largest prediction of each term in a text, (batch, vocabulary) float32."""
        states = self.states(input_ids, attention_mask, token_type_ids)
        logits: Tensor = self.head.expansion(self.head.transform(states))
        absent = self._terms(input_ids, attention_mask) == 0
        return logits.masked_fill(absent.unsqueeze(-1), _LOW).amax(1)

    def _terms(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return 1 at the terms of a text and 0 elsewhere, (batch, tokens) float32."""
        return self.head.is_term[input_ids] * attention_mask.to(self.head.is_term.dtype)


class DocumentEncoder(nn.Module):
    """The graph that is exported for documents: φ_d above each term's floor, for all terms.

    Subtracting a term's floor from every document changes no order, but values below it become 0,
    which does.

    Args:
        network: the network of both encoders.
        floors: floor of each term, ≥ 0, (vocabulary,) float32; None for 0.
    """

    floors: Tensor | None

    def __init__(self, network: EPIC, floors: Tensor | None = None) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("floors", floors, persistent=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return max(0, φ_d − floor), (batch, vocabulary) float32."""
        vectors = self.network.document(input_ids, attention_mask, token_type_ids)
        return vectors if self.floors is None else torch.relu(vectors - self.floors)
