"""Networks that compute T(q|d) from the embeddings of two tokens, and a query's likelihood by it.

Source: Boytsov & Kolter 2021, §3.

Both read token ids, (batch, queries) and (batch, documents) int64, and return T(q|d) of every pair,
(batch, queries, documents) float32.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import check_integer, check_one_of
from ranklet.runtime.rankers.neural_model1 import NeuralModel1Settings
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.neural_model1.options import PARAMETRISATIONS

# T(q|d) of an untrained network. The paper does not give it. With σ(0) = ½ every pair would have a
# far higher T than a token has for itself, and training would have to unlearn that first.
FIRST_TRANSLATION = 1e-3

THRESHOLD = 1e-4  # smallest T(q|d) that sparsification keeps (Boytsov & Kolter, §4.1)


class PairNetwork(nn.Module):
    """T(q|d) = σ(F3 relu(F2 relu(F1 [x_q; x_d; x_q ∘ x_d]))) of any vectors x_q and x_d."""

    first: nn.Linear
    second: nn.Linear
    third: nn.Linear

    def make_layers(self, vector: int, hidden: tuple[int, int]) -> None:
        """Make F1 to F3, after the module's other parts; F1 and F2 have `hidden` outputs."""
        self.first = nn.Linear(3 * vector, hidden[0])
        self.second = nn.Linear(hidden[0], hidden[1])
        self.third = nn.Linear(hidden[1], 1)
        nn.init.constant_(self.third.bias, torch.logit(torch.tensor(FIRST_TRANSLATION)).item())

    def first_parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return F1's weights for x_q, x_d and x_q ∘ x_d, (hidden, vector) each.

        F1 is linear, so its parts for x_q and x_d are computed once per token, not once per pair.
        """
        by_query, by_document, by_product = self.first.weight.chunk(3, dim=1)
        return by_query, by_document, by_product

    def compare_vectors(self, x_q: Tensor, x_d: Tensor) -> Tensor:
        """Return T(q|d) of every pair of tokens, (batch, queries, documents) float32.

        The vectors are (batch, queries, vector) and (batch, documents, vector).
        """
        by_query, by_document, by_product = self.first_parts()
        # W_d x_d + W_p (x_q ∘ x_d) is a matrix that depends on the query token times x_d. So all
        # tokens of a query take one product, and x_q ∘ x_d is never stored for every pair.
        by_token = x_q.unsqueeze(3) * by_product.T + by_document.T
        by_token = by_token.permute(0, 2, 1, 3).flatten(2)  # (batch, vector, queries · hidden)
        from_query = (x_q @ by_query.T + self.first.bias).flatten(1).unsqueeze(1)
        hidden = torch.relu(from_query + x_d @ by_token)  # (batch, documents, queries · hidden)
        hidden = hidden.reshape(*hidden.shape[:2], x_q.shape[1], len(by_query))
        logits = self.third(torch.relu(self.second(hidden))).squeeze(-1)
        return torch.sigmoid(logits.float()).transpose(1, 2)  # float32 in mixed precision, too


class NetworkTranslation(PairNetwork):
    """T(q|d) = σ(F3 relu(F2 relu(F1 [x_q; x_d; x_q ∘ x_d]))), x = P tanh(LN(embedding)).

    Queries and documents have their own tables and projections P.
    """

    def __init__(self, vocabulary: int, vector: int, hidden: tuple[int, int]) -> None:
        super().__init__()
        self.queries = nn.Embedding(vocabulary, vector)
        self.documents = nn.Embedding(vocabulary, vector)
        self.query_norm, self.document_norm = nn.LayerNorm(vector), nn.LayerNorm(vector)
        self.query_projection = nn.Linear(vector, vector)
        self.document_projection = nn.Linear(vector, vector)
        self.make_layers(vector, hidden)

    def query_vectors(self, ids: Tensor) -> Tensor:
        """Return x_q, (…, vector) float32, for ids (…) int64."""
        vectors: Tensor = self.query_projection(torch.tanh(self.query_norm(self.queries(ids))))
        return vectors

    def document_vectors(self, ids: Tensor) -> Tensor:
        """Return x_d, (…, vector) float32, for ids (…) int64."""
        normed = self.document_norm(self.documents(ids))
        vectors: Tensor = self.document_projection(torch.tanh(normed))
        return vectors

    def forward(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return T(q|d) of every pair, (batch, queries, documents) float32."""
        return self.compare_vectors(
            self.query_vectors(query_ids), self.document_vectors(document_ids)
        )


class CosineTranslation(nn.Module):
    """T(q|d) = ½ (cos(e_q, e_d) + 1), the paper's weaker variant, for comparison."""

    def __init__(self, vocabulary: int, vector: int) -> None:
        super().__init__()
        self.queries = nn.Embedding(vocabulary, vector)
        self.documents = nn.Embedding(vocabulary, vector)

    def forward(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return T(q|d) of every pair, (batch, queries, documents) float32."""
        queries = self.queries(query_ids).unsqueeze(2)
        documents = self.documents(document_ids).unsqueeze(1)
        cosine = cosine_similarity(queries.float(), documents.float(), dim=-1)
        return 0.5 * (cosine + 1)


@dataclass(frozen=True)
class Network:
    """The sizes and constants of a neural Model 1's network, as config.json stores them.

    With the default sizes all 30,522² pairs of BERT's vocabulary take minutes.

    Attributes:
        vocabulary: number of word pieces.
        padding: the id of [PAD].
        special: ids of special tokens such as [CLS], which translate only into themselves.
        vector: dimension of the embeddings, of x_q and of x_d.
        hidden: number of outputs of F1 and F2.
        parametrisation: network, or cosine, the paper's weaker variant.
        p_self: T(t|t) during training.
        lambda_: weight of the collection during training.
    """

    vocabulary: int
    padding: int
    special: tuple[int, ...] = ()
    vector: int = 64
    hidden: tuple[int, int] = (64, 32)
    parametrisation: str = "network"
    p_self: float = 0.3
    lambda_: float = 0.1

    def __post_init__(self) -> None:
        check_integer("vocabulary", self.vocabulary, 1)
        check_integer("padding", self.padding, 0, self.vocabulary - 1)
        check_integer("vector", self.vector, 1)
        if len(self.hidden) != 2:
            raise InputError(f"hidden is {self.hidden!r}; it must be two numbers, for F1 and F2")
        for at, size in enumerate(self.hidden):
            check_integer(f"hidden[{at}]", size, 1)
        check_one_of("parametrisation", self.parametrisation, PARAMETRISATIONS)
        NeuralModel1Settings(p_self=self.p_self, lambda_=self.lambda_)  # checks both

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Network":
        """Read a config.json; raise InputError if it is not of a neural Model 1."""
        try:
            values = {name: raw[name] for name in cls.__dataclass_fields__}
            lists = {name: tuple(values[name]) for name in ("special", "hidden")}
            return cls(**{**values, **lists})
        except (KeyError, TypeError) as error:
            raise InputError(f"the config.json of this neural Model 1 lacks {error}") from error


def make_translation(network: Network) -> NetworkTranslation | CosineTranslation:
    """Return an untrained network."""
    if network.parametrisation == "cosine":
        return CosineTranslation(network.vocabulary, network.vector)
    return NetworkTranslation(network.vocabulary, network.vector, network.hidden)


class NeuralModel1(nn.Module):
    """log P(Q|D) = Σ_q log [(1 − λ) Σ_d T(q|d) P(d|D) + λ P(q|C)] (Boytsov & Kolter, eq. 3 and 4).

    T(t|t) is p_self. Every other T(q|d) is that of the network times 1 − p_self.

    Args:
        network: sizes and constants.
        background: P(q|C) > 0, (vocabulary,) float32.
    """

    def __init__(self, network: Network, background: NDArray[np.float32]) -> None:
        super().__init__()
        self.network = network
        self.translate = make_translation(network)
        self.background: Tensor
        self.register_buffer("background", torch.from_numpy(background.astype(np.float32)))

    def forward(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return log P(Q|D) of each pair of texts, (batch,) float32.

        The ids are (batch, tokens) int64 each, padded with [PAD].
        """
        shares = even_shares(document_ids, self.network.padding).unsqueeze(2)
        return self.log_likelihoods(query_ids, document_ids, shares).squeeze(1)

    def log_likelihoods(self, query_ids: Tensor, token_ids: Tensor, shares: Tensor) -> Tensor:
        """Return log P(Q|D) of each query and its own documents, (batch, documents) float32.

        This sums over unique tokens (eq. 2) and has the same value as eq. 4. Documents repeat
        tokens and share them, so each T(q|d) is computed only once for all of them.

        Args:
            query_ids: (batch, query tokens) int64, padded with [PAD].
            token_ids: tokens of any of the query's documents, (batch, tokens) int64.
            shares: P(d|D), 0 for padding, (batch, tokens, documents) float32.
        """
        translations = self.mixed(query_ids, token_ids)
        with full_precision(shares.device):
            likelihoods = translations @ shares  # (batch, query tokens, documents)
        background = self.background[query_ids].unsqueeze(2)
        by_token = smoothed(likelihoods, background, self.network.lambda_)
        return (by_token * (query_ids != self.network.padding).unsqueeze(2)).sum(1)

    def likelihoods(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return Σ_d T(q|d) P(d|D) of each query token (Boytsov & Kolter, eq. 4), 0 for padding.

        This is the graph that is exported. The runtime does the smoothing, because P(q|C) belongs
        to the collection that is served.

        Args:
            query_ids: (batch, query tokens) int64, padded with [PAD].
            document_ids: (batch, document tokens) int64, padded with [PAD].

        Returns:
            (batch, query tokens) float32.
        """
        padding = self.network.padding
        shares = even_shares(document_ids, padding).unsqueeze(2)
        found = (self.mixed(query_ids, document_ids) @ shares).squeeze(2)
        return found * (query_ids != padding)

    def mixed(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return T(q|d) including p_self, (batch, query tokens, document tokens) float32."""
        others: Tensor = self.translate(query_ids, document_ids) * (1 - self.network.p_self)
        same = query_ids.unsqueeze(2) == document_ids.unsqueeze(1)
        return torch.where(same, self.network.p_self, others)

    def translation(self, query_tokens: Tensor, document_tokens: Tensor) -> Tensor:
        """Return the network's T(q|d) without p_self of every pair of tokens.

        Tokens are (queries,) and (documents,) int64, the result (queries, documents) float32.
        """
        batch: Tensor = self.translate(query_tokens.unsqueeze(0), document_tokens.unsqueeze(0))
        return batch[0]


def even_shares(ids: Tensor, padding: int) -> Tensor:
    """Return 1 / |D| for each token of a document and 0 for padding (Boytsov & Kolter, eq. 4).

    The ids and the result are (batch, document tokens), int64 and float32.
    """
    present = (ids != padding).float()
    return present / present.sum(1, keepdim=True).clamp(min=1)


def smoothed(likelihoods: Tensor, background: Tensor, lambda_: float) -> Tensor:
    """Return log [(1 − λ) P + λ P(q|C)] of some P and P(q|C) > 0 (Boytsov & Kolter, eq. 3)."""
    return torch.log((1 - lambda_) * likelihoods + lambda_ * background)
