"""The networks of the Conformer-Kernel: latent matching, explicit matching, both, and TK.

Source: Mitra et al. 2020 (paper 002), §3. Terms are rows of the embeddings: 0 is padding, 1 a word
that the network does not know, from 2 on its terms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor, nn

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.conformer_kernel.explicit_match import EPSILON
from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.runtime.rankers.conformer_kernel.ranker import MODELS
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.conformer_kernel.kernel_pooling import (
    cosines,
    kernel_means,
    window_counts,
)
from ranklet.training.rankers.conformer_kernel.layers import HIDDEN, Attention, Block, positions
from ranklet.training.rankers.conformer_kernel.normalisation import BatchScale, ScoreNorm
from ranklet.training.rankers.conformer_kernel.parts import in_parts, texts_together

EVERYTHING = 1 << 30  # a window as long as any document


@dataclass(frozen=True)
class Network:
    """What a network is made of: the checkpoint's config.json. The defaults are the paper's.

    Attributes:
        vocabulary: rows of the embeddings.
        form: ndrm1, ndrm2, ndrm3 or tk.
        hidden: size of the embeddings and of every layer.
        layers: blocks of the document's encoder.
        heads: of their attention.
        attention: separable, or full as in a transformer; empty: full for tk, else separable.
        width: terms that the convolution sees, odd; 0 for none; tk has none.
        groups: of the convolution.
        kernels: of the pooling.
        window: its terms; tk has one window.
        stride: from one window to the next.
        dropout: rate.
    """

    vocabulary: int
    form: str = "ndrm3"
    hidden: int = 256
    layers: int = 2
    heads: int = 32
    attention: Attention | None = None
    width: int = 31
    groups: int = 32
    kernels: int = 10
    window: int = 300
    stride: int = 100
    dropout: float = 0.2

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("vocabulary", "hidden", "layers", "heads", "groups", "kernels", "window",
                     "stride"):  # fmt: skip
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise InputError(f"{name} is {value!r}; it must be a whole number above 0")
        if self.form not in MODELS:
            raise InputError(f"form is {self.form!r}; allowed are {', '.join(MODELS)}")
        if self.attention not in (None, *get_args(Attention)):
            allowed = ", ".join(get_args(Attention))
            raise InputError(f"attention is {self.attention!r}; allowed are {allowed}")
        if type(self.width) is not int or self.width < 0 or (self.width and not self.width % 2):
            raise InputError(f"width is {self.width!r}; it must be 0 or an odd number")
        for name, parts in (("heads", self.heads), ("groups", self.groups), ("halves", 2)):
            if self.hidden % parts:
                raise InputError(f"hidden is {self.hidden}, no multiple of {name} ({parts})")
        if self.stride > self.window:
            raise InputError(f"stride is {self.stride}; it must be at most window, {self.window}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout!r}; it must be from 0 to below 1")

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Network":
        """Read a config.json; InputError where it is none of ours."""
        try:
            return cls(**{name: raw[name] for name in cls.__dataclass_fields__})
        except (KeyError, TypeError) as error:
            raise InputError(f"the config.json of this conformer kernel lacks {error}") from error


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
        network: the sizes.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.contextual_queries = network.form == "tk"
        tk = self.contextual_queries
        attention: Attention = network.attention or ("full" if tk else "separable")
        self.heads, self.full = network.heads, attention == "full"
        self.embedding = nn.Embedding(network.vocabulary, network.hidden, padding_idx=PADDING)
        self.blocks = nn.ModuleList(
            Block(
                network.hidden,
                network.heads,
                attention,
                width=0 if tk else network.width,
                groups=network.groups,
                dropout=network.dropout,
            )
            for _ in range(network.layers)
        )
        self.share = nn.Parameter(torch.zeros(()))  # α = σ(share)
        self.dropout = nn.Dropout(network.dropout)

    def contextual(self, rows: Tensor) -> Tensor:
        """Return vectors of terms in their text, (batch, n, hidden); rows are (batch, n) int64."""
        plain = self.embedding(rows)
        states, held = self.dropout(plain), rows != PADDING
        if self.contextual_queries:  # a transformer knows no places, a convolution does
            states = states + positions(rows.shape[1], plain.shape[2], plain)
        for block in self.blocks:
            states = block(states, held)
        share = torch.sigmoid(self.share)
        found: Tensor = share * plain + (1 - share) * states
        return found

    def together(self, terms: int) -> int:
        """Return how many texts of so many terms full attention takes at a time, at least one."""
        return texts_together(self.heads, terms) if self.full else EVERYTHING

    def queries(self, rows: Tensor) -> Tensor:
        """Return vectors of query terms: plain embeddings, but for tk (paper 002, §3)."""
        plain: Tensor = self.contextual(rows) if self.contextual_queries else self.embedding(rows)
        return plain


class LatentMatch(nn.Module):
    """NDRM1: what each query term gives to a document, by windowed kernel pooling.

    Each window's soft counts, log(1 + ·), pass a layer of `hidden`; the best window counts.

    Args:
        network: the sizes.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.encoder = Encoder(network)
        whole = network.form == "tk"
        self.window = EVERYTHING if whole else network.window
        self.stride = EVERYTHING if whole else network.stride
        self.means: Tensor
        self.register_buffer("means", kernel_means(network.kernels), persistent=False)
        self.dense = nn.Sequential(
            nn.Linear(network.kernels, network.hidden),
            nn.ReLU(),
            nn.Dropout(network.dropout),
            nn.Linear(network.hidden, 1),
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


class TransformerKernel(LatentMatch):
    """TK: query terms in their context, one window, one score for all terms' summed features."""

    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return the score of each pair, (batch, 1) float32; arguments as of `LatentMatch`."""
        features, _ = self.features(query_rows, document_rows)
        asked = (query_rows != PADDING).to(features.dtype)
        with full_precision(features.device):
            score: Tensor = self.dense((features[:, :, 0] * asked.unsqueeze(2)).sum(1))
        return score


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


class ConformerKernel(nn.Module):
    """The score of a pair: Σ_t s_{t,d}, by one form of matching or both (paper 002, eq. 3).

    Args:
        network: the form and the sizes.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        latent, tk = network.form in ("ndrm1", "ndrm3"), network.form == "tk"
        self.latent = (TransformerKernel if tk else LatentMatch)(network) if latent or tk else None
        self.explicit = ExplicitMatch() if network.form in ("ndrm2", "ndrm3") else None
        both = network.form == "ndrm3"
        self.latent_norm = ScoreNorm() if both else None
        self.explicit_norm = ScoreNorm() if both else None
        self.weights = nn.Parameter(torch.tensor([1.0, 1.0, 0.0])) if both else None  # w1, w2, b

    def forward(self, pairs: Pairs) -> Tensor:
        """Return the score of each pair, (pairs,) float32."""
        return self.term_scores(pairs).sum(1)

    def term_scores(self, pairs: Pairs) -> Tensor:
        """Return s_{t,d}, 0 at padding, (pairs, query terms) float32; (pairs, 1) for tk.

        A word that the network does not know has no latent part: which document it is near to
        cannot be told.
        """
        asked = pairs.query_rows != PADDING
        exact = asked.float() if self.explicit is None else self.explicit(pairs) * asked
        if self.latent is None:
            return exact
        longest = max(pairs.query_rows.shape[1], pairs.document_rows.shape[1])
        each = self.latent.encoder.together(longest)
        near = in_parts(self.latent, each, pairs.query_rows, pairs.document_rows)
        if self.network.form == "tk":
            return near
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
