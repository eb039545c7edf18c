"""The networks of the Conformer-Kernel: latent matching, explicit matching, or both.

Source: Mitra et al. 2020 (paper 002), §3. Terms are rows of the embeddings: 0 is padding, 1 a word
that the network does not know, from 2 on its terms.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.conformer_kernel.explicit_match import EPSILON
from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.conformer_kernel.kernel_pooling import (
    cosines,
    kernel_means,
    window_counts,
)
from ranklet.training.rankers.conformer_kernel.layers import (
    HIDDEN,
    Block,
    in_parts,
    texts_together,
)
from ranklet.training.rankers.conformer_kernel.normalisation import BatchScale, ScoreNorm
from ranklet.training.rankers.conformer_kernel.sizes import Network, TermSizes

EVERYTHING = 1 << 30  # a window as long as any document


class Pairs(NamedTuple):
    """Some pairs of a query and a document."""

    query_rows: Tensor  # (pairs, query terms) int64
    document_rows: Tensor  # (pairs, n) int64
    tf: Tensor  # of each query term in the document, (pairs, query terms) float32
    idf: Tensor  # of each query term, (pairs, query terms) float32
    lengths: Tensor  # terms of the document, (pairs,) float32


class Encoder(nn.Module):
    """Terms to vectors: embeddings, and between them and their contextual forms a learned mean.

    The mean is TK's (Hofstätter et al. 2020): α x + (1 − α) context(x).

    Args:
        sizes: of the network.
        width, groups: of the convolution.
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
        """Return vectors of terms in their text, (batch, n, hidden); rows are (batch, n) int64."""
        plain = self.embedding(rows)
        states, held = self.dropout(plain), rows != PADDING
        states = self.placed(states, rows)
        for block in self.blocks:
            states = block(states, held)
        share = torch.sigmoid(self.share)
        found: Tensor = share * plain + (1 - share) * states
        return found

    def placed(self, states: Tensor, rows: Tensor) -> Tensor:  # noqa: ARG002
        """Return states that know their places; here a convolution sees to that."""
        return states

    def queries(self, rows: Tensor) -> Tensor:
        """Return vectors of query terms: plain embeddings (paper 002, §3)."""
        plain: Tensor = self.embedding(rows)
        return plain

    def together(self, terms: int) -> int:
        """Return how many texts of so many terms full attention takes at a time, at least one."""
        return texts_together(self.heads, terms) if self.full else EVERYTHING


class LatentMatch(nn.Module):
    """NDRM1: what each query term gives to a document, by windowed kernel pooling.

    Each window's soft counts, log(1 + ·), pass a layer of `hidden`; the best window counts.

    Args:
        encoder: of queries and documents.
        sizes: of the network.
        window: terms that are pooled together.
        stride: from one window to the next.
    """

    def __init__(
        self,
        encoder: Encoder,
        sizes: TermSizes,
        *,
        window: int = EVERYTHING,
        stride: int = EVERYTHING,
    ) -> None:
        super().__init__()
        self.encoder, self.window, self.stride = encoder, window, stride
        self.means: Tensor
        self.register_buffer("means", kernel_means(sizes.kernels), persistent=False)
        self.dense = nn.Sequential(
            nn.Linear(sizes.kernels, sizes.hidden),
            nn.ReLU(),
            nn.Dropout(sizes.dropout),
            nn.Linear(sizes.hidden, 1),
        )

    def features(self, query_rows: Tensor, document_rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return log(1 + soft counts), (batch, terms, windows, kernels), and which windows are."""
        held = document_rows != PADDING
        documents = self.encoder.contextual(document_rows).float()
        queries = self.encoder.queries(query_rows).float()
        with full_precision(documents.device):  # bfloat16 would round one kernel into the next
            counts, there = window_counts(
                cosines(queries, documents), held, self.means, size=self.window, stride=self.stride
            )
        return torch.log1p(counts), there

    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return s_latent of each query term, (batch, query terms) float32.

        Args:
            query_rows: (batch, query terms) int64.
            document_rows: (batch, n) int64.
        """
        features, there = self.features(query_rows, document_rows)
        with full_precision(features.device):
            by_window = self.dense(features).squeeze(3)  # (batch, terms, windows)
        best: Tensor = by_window.masked_fill(~there.unsqueeze(1), HIDDEN).amax(2)
        return best


class ExplicitMatch(nn.Module):
    """NDRM2: BM25's form, learned (paper 002, eq. 4)."""

    def __init__(self) -> None:
        super().__init__()
        self.tf, self.length = BatchScale(), BatchScale()
        self.weight = nn.Parameter(torch.ones(()))  # w_dlen
        self.bias = nn.Parameter(torch.ones(()))  # b_dlen

    def begin_as_bm25(self, k1: float, b: float, average_length: float) -> None:
        """Set w and b so that this is BM25, by the means so far; see `term_match`."""
        k1, tf = max(k1, 0.01), self.tf.mean.clamp(min=1e-3)  # ReLU(0) has no gradient
        with torch.no_grad():
            self.weight.copy_(k1 * b / tf * self.length.mean / max(average_length, EPSILON))
            self.bias.copy_(k1 * (1 - b) / tf)

    def forward(self, pairs: Pairs) -> Tensor:
        """Return s_explicit of each query term, (pairs, query terms) float32."""
        tf = self.tf(pairs.tf, pairs.query_rows != PADDING)
        length = self.length(pairs.lengths, torch.ones_like(pairs.lengths, dtype=torch.bool))
        norm = torch.relu(self.weight * length + self.bias).unsqueeze(1)
        found: Tensor = pairs.idf * tf / (tf + norm + EPSILON)
        return found


class TermModel(nn.Module):
    """A score of each pair from the rows of its terms: what training and export know of it.

    Args:
        network: the sizes.
        latent: what is exported as a graph; None where all of it is numbers.
        explicit: exact matches, if it has them.
    """

    def __init__(
        self, network: TermSizes, latent: LatentMatch | None, explicit: ExplicitMatch | None = None
    ) -> None:
        super().__init__()
        self.network, self.latent, self.explicit = network, latent, explicit

    def latent_scores(self, pairs: Pairs) -> Tensor:
        """Return what the graph gives, as many pairs at a time as memory is meant to hold."""
        if self.latent is None:
            return torch.zeros_like(pairs.tf)
        longest = max(pairs.query_rows.shape[1], pairs.document_rows.shape[1])
        each = self.latent.encoder.together(longest)
        return in_parts(self.latent, each, pairs.query_rows, pairs.document_rows)

    def served(self) -> dict[str, float]:
        """Return what the settings hold of the model."""
        return {}


class ConformerKernel(TermModel):
    """The score of a pair: Σ_t s_{t,d}, by one form of matching or both (paper 002, eq. 3).

    Args:
        network: the architecture and the sizes.
    """

    network: Network

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

        A word that the network does not know has no latent part: which document it is near to
        cannot be told.
        """
        asked = pairs.query_rows != PADDING
        exact = asked.float() if self.explicit is None else self.explicit(pairs) * asked
        if self.latent is None:
            return exact
        near = self.latent_scores(pairs)
        known = pairs.query_rows > UNKNOWN
        if self.latent_norm is None or self.explicit_norm is None or self.weights is None:
            return near * known
        first, second, bias = self.weights.unbind(0)
        near = self.latent_norm(near, known) * known
        found: Tensor = first * near + second * self.explicit_norm(exact, asked) + bias
        return found * asked

    def served(self) -> dict[str, float]:
        """Return what `ConformerKernelSettings` hold: BatchNorm and BatchScale as numbers.

        What BatchNorm subtracts, and b, are the same for all documents, and left out.
        """
        found: dict[str, float] = {}
        if self.explicit is not None:
            found = {
                "tf_mean": self.explicit.tf.mean.item(),
                "length_mean": self.explicit.length.mean.item(),
                "length_weight": self.explicit.weight.item(),
                "length_bias": self.explicit.bias.item(),
            }
        if self.latent_norm and self.explicit_norm and self.weights is not None:
            found["latent_weight"] = (self.weights[0] / self.latent_norm.deviation).item()
            found["explicit_weight"] = (self.weights[1] / self.explicit_norm.deviation).item()
        return found
