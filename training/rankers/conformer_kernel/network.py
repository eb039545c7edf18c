"""The networks of the Conformer-Kernel: latent matching, explicit matching, or both.

Source: Mitra et al. 2020, §3. Terms are given as rows of the embeddings: 0 is padding,
1 an unknown word, and the network's terms start at 2.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.settings import EPSILON
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.conformer_kernel.kernel_pooling import (
    LEAST,
    cosines,
    kernel_centres,
    kernel_means,
    window_counts,
)
from ranklet.training.rankers.conformer_kernel.layers import HIDDEN, Block, in_parts, pairs_together
from ranklet.training.rankers.conformer_kernel.normalisation import BatchScale, ScoreNorm
from ranklet.training.rankers.conformer_kernel.sizes import AUTHORS, Network, TermSizes

EVERYTHING = 1 << 30  # a window that is longer than any document


class Pairs(NamedTuple):
    """Pairs of a query and a document."""

    query_rows: Tensor  # (pairs, query terms) int64
    document_rows: Tensor  # (pairs, n) int64
    tf: Tensor  # frequency of each query term in the document, (pairs, query terms) float32
    idf: Tensor  # idf of each query term, (pairs, query terms) float32
    lengths: Tensor  # number of terms of the document, (pairs,) float32


class Encoder(nn.Module):
    """Encode terms as a learned mean of their embeddings and contextual vectors.

    The mean is TK's (Hofstätter et al. 2020): α x + (1 − α) context(x). `width` and `groups` are
    those of the convolution.
    """

    def __init__(self, sizes: TermSizes, *, width: int = 0, groups: int = 1) -> None:
        super().__init__()
        self.heads, self.full = sizes.heads, sizes.attention == "full"
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.hidden, padding_idx=PADDING)
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
        self.share = nn.Parameter(torch.zeros(()))  # α = σ(share)
        self.dropout = nn.Dropout(sizes.dropout)

    def contextual(self, rows: Tensor) -> Tensor:
        """Return contextual vectors, (batch, n, hidden) float32; rows are (batch, n) int64."""
        plain = self.embedding(rows)
        states, mask = self.dropout(plain), rows != PADDING
        states = self.placed(states, rows)
        for block in self.blocks:
            states = block(states, mask)
        share = torch.sigmoid(self.share)
        vectors: Tensor = share * plain + (1 - share) * states
        return vectors

    def placed(self, states: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG002
        """Return states with their positions; here the convolution knows them."""
        return states

    def queries(self, rows: Tensor) -> Tensor:
        """Return vectors of query terms: plain embeddings (Mitra et al., §3)."""
        plain: Tensor = self.embedding(rows)
        return plain

    def numbers(self, terms: int) -> int:
        """Return the size of full attention's matrix of a text; separable attention has none."""
        return self.heads * terms**2 if self.full else 0


class PairNetwork(nn.Module, ABC):
    """A network that scores each query term in a document, and that is exported as one graph."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

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

    log(soft count + ε) of each window goes through a hidden layer, and the best window counts.
    `window` terms are pooled together, and `stride` terms lie between the starts of two windows.

    The form `authors` has the centres of the authors' code, a layer over the embeddings of query
    terms, and a window without any term next to those of the document, because that code pads
    documents to 4,000 terms. So no window counts for less than one without a match.
    """

    def __init__(
        self,
        encoder: Encoder,
        sizes: TermSizes,
        *,
        window: int = EVERYTHING,
        stride: int = EVERYTHING,
        authors: bool = False,
    ) -> None:
        super().__init__(encoder)
        self.window, self.stride = window, stride
        means = (kernel_centres if authors else kernel_means)(sizes.kernels)
        self.means: Tensor
        self.register_buffer("means", means, persistent=False)
        self.query = nn.Linear(sizes.hidden, sizes.hidden) if authors else None
        self.dense = nn.Sequential(
            nn.Linear(sizes.kernels, sizes.hidden),
            nn.ReLU(),
            nn.Dropout(sizes.dropout),
            nn.Linear(sizes.hidden, 1),
        )

    def features(self, query_rows: Tensor, document_rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return log(soft counts + ε), (batch, terms, windows, kernels), and which exist."""
        mask = document_rows != PADDING
        documents = self.encoder.contextual(document_rows).float()
        queries = self.encoder.queries(query_rows)
        if self.query is not None:
            queries = self.query(queries)
        queries = queries.float()
        with full_precision(documents.device):  # bfloat16 rounds by more than a kernel's width
            counts, exists = window_counts(
                cosines(queries, documents), mask, self.means, size=self.window, stride=self.stride
            )
        return torch.log(counts + LEAST), exists

    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return s_latent of each query term, (batch, query terms) float32."""
        features, exists = self.features(query_rows, document_rows)
        with full_precision(features.device):
            by_window = self.dense(features).squeeze(3)  # (batch, terms, windows)
            best: Tensor = by_window.masked_fill(~exists.unsqueeze(1), HIDDEN).amax(2)
            if self.query is not None:
                empty = torch.full_like(features[:, :, 0], LEAST).log()
                best = torch.maximum(best, self.dense(empty).squeeze(2))
        return best


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
        with torch.no_grad():
            self.weight.copy_(k1 * b / tf * self.length.mean / max(average_length, EPSILON))
            self.bias.copy_(k1 * (1 - b) / tf)

    def forward(self, pairs: Pairs) -> Tensor:
        """Return s_explicit of each query term, (pairs, query terms) float32."""
        tf = self.tf(pairs.tf, pairs.query_rows != PADDING)
        length = self.length(pairs.lengths, torch.ones_like(pairs.lengths, dtype=torch.bool))
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
            network,
            LatentMatch(
                Encoder(network, width=network.width, groups=network.groups),
                network,
                window=network.window,
                stride=network.stride,
                authors=network.form == AUTHORS,
            )
            if latent
            else None,
            ExplicitMatch() if explicit else None,
        )
        self.latent_norm = ScoreNorm() if both else None
        self.explicit_norm = ScoreNorm() if both else None
        self.weights = nn.Parameter(torch.tensor([1.0, 1.0, 0.0])) if both else None  # w1, w2, b

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
        latent = self.latent_scores(pairs)
        known = pairs.query_rows > UNKNOWN
        if self.latent_norm is None or self.explicit_norm is None or self.weights is None:
            return latent * known
        first, second, bias = self.weights.unbind(0)
        latent = self.latent_norm(latent, known) * known
        scores: Tensor = first * latent + second * self.explicit_norm(explicit, mask) + bias
        return scores * mask

    def served(self) -> dict[str, float]:
        """Return BatchNorm and BatchScale as the numbers in `ConformerKernelSettings`.

        The mean of BatchNorm and b are left out, because they are the same for all documents.
        """
        numbers: dict[str, float] = {}
        if self.explicit is not None:
            numbers = {
                "tf_mean": self.explicit.tf.mean.item(),
                "length_mean": self.explicit.length.mean.item(),
                "length_weight": self.explicit.weight.item(),
                "length_bias": self.explicit.bias.item(),
            }
        if self.latent_norm and self.explicit_norm and self.weights is not None:
            numbers["latent_weight"] = (self.weights[0] / self.latent_norm.deviation).item()
            numbers["explicit_weight"] = (self.weights[1] / self.explicit_norm.deviation).item()
        return numbers
