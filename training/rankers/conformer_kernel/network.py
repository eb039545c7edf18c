"""The networks of the Conformer-Kernel: latent matching, explicit matching, or both.

Source: Mitra et al. 2020, §3. Terms are given as rows of the embeddings: 0 is padding,
1 an unknown word, and the network's terms start at 2.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import EPSILON, FRAME
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.conformer_kernel.kernel_pooling import (
    LEAST,
    cosines,
    kernel_centres,
    window_counts,
)
from ranklet.training.rankers.conformer_kernel.layers import (
    HIDDEN,
    Block,
    in_parts,
    pairs_together,
    positions,
)
from ranklet.training.rankers.conformer_kernel.normalisation import BatchScale
from ranklet.training.rankers.conformer_kernel.sizes import Network, TermSizes


class Pairs(NamedTuple):
    """Pairs of a query and a document."""

    query_rows: Tensor  # (pairs, query terms) int64
    document_rows: Tensor  # (pairs, n) int64
    tf: Tensor  # frequency of each query term in the document, (pairs, query terms) float32
    idf: Tensor  # idf of each query term, (pairs, query terms) float32
    lengths: Tensor  # number of terms of the document, (pairs,) float32


class Encoder(nn.Module, ABC):
    """Encode terms by their embeddings and a mixture of these with contextual vectors.

    `width` and `groups` are those of the convolution, and `more` rows follow those of terms.
    Padding has the embedding of unknown words, as in the authors' code.
    """

    def __init__(self, sizes: TermSizes, *, width: int = 0, groups: int = 1, more: int = 0) -> None:
        super().__init__()
        self.heads, self.full = sizes.heads, sizes.attention == "full"
        self.embedding = nn.Embedding(sizes.vocabulary + more, sizes.hidden)
        self.blocks = nn.ModuleList(
            Block(
                sizes.hidden,
                sizes.heads,
                sizes.attention,
                width=width,
                groups=groups,
                dropout=sizes.dropout,
            )
            for _ in range(sizes.layers)
        )
        self.dropout = nn.Dropout(sizes.dropout)

    def plain(self, rows: Tensor) -> Tensor:
        """Return embeddings, (batch, n, hidden) float32; rows are (batch, n) int64."""
        vectors: Tensor = self.embedding(rows.clamp(min=UNKNOWN))
        return vectors

    def contextual(self, rows: Tensor) -> Tensor:
        """Return contextual vectors, (batch, n, hidden) float32; rows are (batch, n) int64."""
        plain, mask = self.plain(rows), rows != PADDING
        states = self.dropout(plain + positions(plain.shape[1], plain.shape[2], plain))
        for block in self.blocks:
            states = block(states, mask)
        return self.mixed(plain, states)

    @abstractmethod
    def mixed(self, plain: Tensor, states: Tensor) -> Tensor:
        """Return what documents' terms are compared by, like the embeddings and the states."""

    def numbers(self, terms: int) -> int:
        """Return the size of full attention's matrix of a text; separable attention has none."""
        return self.heads * terms**2 if self.full else 0


class ConformerEncoder(Encoder):
    """The encoder of documents (Mitra et al., §3, and their code).

    Documents stand between two rows of their own, <S> and </S>. Convolutions near the end of a
    document read padding, so `framed` adds as much as they reach.
    """

    def __init__(self, network: Network) -> None:
        super().__init__(network, width=network.width, groups=network.groups, more=2)
        self.start = network.vocabulary
        self.reach = network.layers * (network.width // 2)
        self.mix = nn.Linear(2, 1)  # of each number of the embedding and the contextual vector
        nn.init.constant_(self.mix.weight, 0.5)
        nn.init.zeros_(self.mix.bias)

    def framed(self, rows: Tensor) -> Tensor:
        """Return documents with <S> and </S>, (batch, n + 2 + reach) int64."""
        wide = nn.functional.pad(rows, (1, 1 + self.reach), value=PADDING)
        places = torch.arange(wide.shape[1], device=rows.device)
        ends = (rows != PADDING).sum(1, keepdim=True) + 1
        wide = torch.where(places == 0, self.start, wide)
        return torch.where(places == ends, self.start + 1, wide)

    def mixed(self, plain: Tensor, states: Tensor) -> Tensor:
        """Return w · (embedding, contextual vector) + b, of each number."""
        first, second = self.mix.weight[0].unbind(0)
        vectors: Tensor = first * plain + second * states + self.mix.bias
        return vectors


class PairNetwork(nn.Module, ABC):
    """A network that scores each query term in a document, and that is exported as one graph."""

    encoder: Encoder

    @abstractmethod
    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return the score of each query term, (batch, query terms) float32.

        The rows are (batch, query terms) and (batch, n) int64.
        """

    def numbers(self, query_terms: int, document_terms: int) -> int:
        """Return the size of the largest matrix of full attention that a pair needs, or 0."""
        return self.encoder.numbers(max(query_terms, document_terms))


class LatentMatch(PairNetwork):
    """NDRM1: score each query term in a document by windowed kernel pooling.

    log(soft count + ε) of each window goes through a hidden layer, and the best window counts. One
    window is without any term, because the authors' code pads documents to 4,000 terms. So no
    document counts for less than one without a match.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.encoder: ConformerEncoder = ConformerEncoder(network)
        self.window, self.stride = network.window, network.stride
        self.means: Tensor
        self.register_buffer("means", kernel_centres(network.kernels), persistent=False)
        self.query = nn.Linear(network.hidden, network.hidden)
        nn.init.eye_(self.query.weight)  # so that equal words are near from the start
        nn.init.zeros_(self.query.bias)
        self.dense = nn.Sequential(
            nn.Linear(network.kernels, network.hidden),
            nn.ReLU(),
            nn.Dropout(network.dropout),
            nn.Linear(network.hidden, 1),
        )

    def features(self, query_rows: Tensor, document_rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return log(soft counts + ε), (batch, terms, windows, kernels), and which exist."""
        rows = self.encoder.framed(document_rows)
        documents = self.encoder.contextual(rows).float()
        queries = self.query(self.encoder.plain(query_rows)).float()
        with full_precision(documents.device):  # bfloat16 rounds by more than a kernel's width
            counts, exists = window_counts(
                cosines(queries, documents), rows != PADDING, self.means,
                size=self.window, stride=self.stride,
            )  # fmt: skip
        return torch.log(counts + LEAST), exists

    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return s_latent of each query term, (batch, query terms) float32."""
        features, exists = self.features(query_rows, document_rows)
        with full_precision(features.device):
            by_window = self.dense(features).squeeze(3)  # (batch, terms, windows)
            best = by_window.masked_fill(~exists.unsqueeze(1), HIDDEN).amax(2)
            empty = self.dense(torch.full_like(features[:, :, 0], LEAST).log()).squeeze(2)
            return torch.maximum(best, empty)


class ExplicitMatch(nn.Module):
    """NDRM2: BM25 with learned parameters (Mitra et al., eq. 4)."""

    def __init__(self) -> None:
        super().__init__()
        self.tf, self.length = BatchScale(), BatchScale()
        self.weight = nn.Parameter(torch.ones(()))  # w_dlen, and b_dlen as in the authors' code
        self.bias = nn.Parameter(torch.zeros(()))

    def begin_as_bm25(self, k1: float, b: float, average_length: float) -> None:
        """Set w and b so that this is BM25 with the current means; see `matches` in settings."""
        k1, tf = max(k1, 0.01), self.tf.mean.clamp(min=1e-3)  # ReLU(0) has no gradient
        per_term = k1 * b / tf / max(average_length, EPSILON)
        with torch.no_grad():
            self.weight.copy_(per_term * self.length.mean)
            self.bias.copy_(k1 * (1 - b) / tf - per_term * FRAME)

    def forward(self, pairs: Pairs) -> Tensor:
        """Return s_explicit of each query term, (pairs, query terms) float32."""
        tf = self.tf(pairs.tf, pairs.query_rows != PADDING)
        lengths = pairs.lengths + FRAME
        length = self.length(lengths, torch.ones_like(lengths, dtype=torch.bool))
        norm = torch.relu(self.weight * length + self.bias).unsqueeze(1)
        scores: Tensor = pairs.idf * tf / (tf + norm + EPSILON)
        return scores


class TermModel(nn.Module):
    """A model that scores pairs by the rows of their terms, as training and export see it.

    Args:
        network: sizes of the network.
        latent: the part that is exported as a graph; None if there is no network.
        explicit: exact matching, if the model has it.
    """

    def __init__(
        self, network: TermSizes, latent: PairNetwork | None, explicit: ExplicitMatch | None = None
    ) -> None:
        super().__init__()
        self.network, self.latent, self.explicit = network, latent, explicit

    def latent_scores(self, pairs: Pairs) -> Tensor:
        """Return the graph's outputs, computed for as many pairs at a time as memory allows."""
        if self.latent is None:
            return torch.zeros_like(pairs.tf)
        numbers = self.latent.numbers(pairs.query_rows.shape[1], pairs.document_rows.shape[1])
        size = pairs_together(numbers)
        return in_parts(self.latent, size, pairs.query_rows, pairs.document_rows)

    def served(self) -> dict[str, float]:
        """Return the numbers of the model that its settings store."""
        return {}


class ConformerKernel(TermModel):
    """Score a pair by Σ_t s_{t,d}, of latent or explicit matching or both (Mitra et al., eq. 3)."""

    network: Network
    latent: LatentMatch | None

    def __init__(self, network: Network) -> None:
        latent, explicit, both = (
            network.architecture in architectures
            for architectures in (("ndrm1", "ndrm3"), ("ndrm2", "ndrm3"), ("ndrm3",))
        )
        super().__init__(
            network, LatentMatch(network) if latent else None, ExplicitMatch() if explicit else None
        )
        self.norm: Any = nn.BatchNorm1d(2) if both else None  # of latent and explicit scores
        self.both = nn.Linear(2, 1) if both else None  # w1, w2 and b
        if self.both is not None:  # begin as the sum, because trainings are short
            nn.init.ones_(self.both.weight)
            nn.init.zeros_(self.both.bias)

    def forward(self, pairs: Pairs) -> Tensor:
        """Return the score of each pair, (pairs,) float32."""
        return self.term_scores(pairs).sum(1)

    def term_scores(self, pairs: Pairs) -> Tensor:
        """Return s_{t,d}, 0 at padding, (pairs, query terms) float32.

        A word that the network does not know has no latent score.
        """
        mask = pairs.query_rows != PADDING
        explicit = mask.float() if self.explicit is None else self.explicit(pairs) * mask
        if self.latent is None:
            return explicit
        latent = self.latent_scores(pairs) * (pairs.query_rows > UNKNOWN)
        if self.norm is None or self.both is None:
            return latent
        scores = torch.zeros_like(latent)
        together = torch.stack([latent, explicit], 2)[mask]
        scores[mask] = self.both(self.norm(together).to(together.dtype)).squeeze(1).to(scores.dtype)
        return scores

    def served(self) -> dict[str, float]:
        """Return BatchNorm and BatchScale as the numbers in `ConformerKernelSettings`.

        Means and biases of BatchNorm, and b, are left out, because they are the same for all
        documents.
        """
        numbers: dict[str, float] = {}
        if self.explicit is not None:
            numbers = {
                "tf_mean": self.explicit.tf.mean.item(),
                "length_mean": self.explicit.length.mean.item(),
                "length_weight": self.explicit.weight.item(),
                "length_bias": self.explicit.bias.item(),
            }
        if self.norm is not None and self.both is not None:
            deviations = torch.sqrt(self.norm.running_var + self.norm.eps)
            weights = (self.both.weight[0] * self.norm.weight / deviations).tolist()
            numbers["latent_weight"], numbers["explicit_weight"] = weights
        return numbers
