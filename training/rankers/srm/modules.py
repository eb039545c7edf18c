"""The modules of light contextualisation: the vectors of tokens without a transformer.

Source: Boualili 2022, "Deep learning for information retrieval", chapter 8. Attention has one head.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import gumbel_softmax, normalize, softmax

from ranklet.runtime.rankers.srm.settings import SRMSettings

SPREAD = 0.02  # standard deviation of matrices at the start, as in the published code
SHARPNESS = 20.0  # of the first attention, in nats per unit of an inner product; see `begin`
NEIGHBOURS = 2  # tokens on each side that make the context without an oracle
MASKED = -1e4  # of a logit, because infinity would make rows without a neighbour undefined


class SingleScoreAttention(nn.Module):
    """SSCA, which gives each sub-embedding of a token one weight (eq. 8.1 and 8.2, one head).

    Args:
        settings: dimension and mixing.
    """

    def __init__(self, settings: SRMSettings) -> None:
        super().__init__()
        size, self._one = settings.dimension, settings.mixing == "top1"
        self.query, self.key = _linear(size, size), _linear(size, size)

    def begin(self) -> None:
        """Attend to the sub-embeddings that are most like the context."""
        with torch.no_grad():
            for layer in (self.query, self.key):
                nn.init.eye_(layer.weight).mul_(_sharpness(len(layer.weight)))

    def forward(self, context: Tensor, table: Tensor) -> Tensor:
        """Return the weights of sub-embeddings, (texts, tokens, K) float32.

        Args:
            context: c_i, (texts, tokens, dimension) float32.
            table: s_i^k, (texts, tokens, K, dimension) float32.
        """
        # (c W)(s V) = (c W Vᵀ) s. So the keys of all sub-embeddings need not be computed.
        mapped = self.query(context) @ self.key.weight
        logits = (table @ mapped.unsqueeze(3)).squeeze(3) / math.sqrt(context.shape[2])
        if not self._one:
            return softmax(logits, 2)
        return gumbel_softmax(logits, hard=True) if self.training else _one_hot(logits)


class LocalContext(nn.Module):
    """LCM, which refines half of a vector by attention over neighbours (eq. 8.4 to 8.6, one head).

    Args:
        settings: dimension and window.
    """

    def __init__(self, settings: SRMSettings) -> None:
        super().__init__()
        self.window, size = settings.window, settings.dimension
        half = size // 2
        self.query, self.gate = _linear(size, half), _linear(size, size)
        self.key, self.value, self.output = (_linear(half, half) for _ in range(3))

    def begin(self) -> None:
        """Attend to the token itself, so that vectors are at first hardly refined."""
        half = len(self.key.weight)
        sharp = _sharpness(half)
        with torch.no_grad():
            nn.init.zeros_(self.query.weight)[:, half:] = torch.eye(half) * sharp
            nn.init.eye_(self.key.weight).mul_(sharp)
            for layer in (self.value, self.output, self.gate):
                nn.init.eye_(layer.weight)

    def forward(self, vectors: Tensor, context: Tensor, attended: Tensor) -> Tensor:
        """Return the refined vectors, (texts, tokens, dimension) float32.

        Args:
            vectors: e_i, (texts, tokens, dimension) float32.
            context: c_i, (texts, tokens, dimension) float32.
            attended: which tokens neighbours read, (texts, tokens) bool.
        """
        tokens, half = vectors.shape[1], vectors.shape[2] // 2
        kept, refined = vectors[:, :, :half], vectors[:, :, half:]
        logits = self.query(context) @ self.key(refined).transpose(1, 2) / math.sqrt(half)
        places = torch.arange(tokens, device=vectors.device)
        near = (places[:, None] - places[None, :]).abs() <= self.window
        seen = near[None] & attended[:, None, :]
        # Of a row without a neighbour softmax would read everything, padding too; it reads nothing.
        mixed = softmax(logits.masked_fill(~seen, MASKED), 2) * seen @ self.value(refined)
        gated: Tensor = self.gate(torch.cat([kept, self.output(mixed)], 2))
        return gated


class Neighbours(nn.Module):
    """The context of a token without an oracle: a linear map of its neighbours' static vectors.

    c_i = Σ_δ A_δ m_{i+δ} for δ from −`NEIGHBOURS` to `NEIGHBOURS`, where m is the mean of a token's
    sub-embeddings. It is not part of the thesis.

    Args:
        size: the dimension.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.maps = nn.Parameter(torch.randn(2 * NEIGHBOURS + 1, size, size) * SPREAD)
        with torch.no_grad():
            self.maps[NEIGHBOURS] += torch.eye(size)

    def forward(self, means: Tensor, attended: Tensor) -> Tensor:
        """Return the context, (texts, tokens, dimension) float32.

        Args:
            means: the mean of each token's sub-embeddings, (texts, tokens, dimension) float32.
            attended: which tokens neighbours read, (texts, tokens) bool.
        """
        tokens = means.shape[1]
        read = nn.functional.pad(means * attended.unsqueeze(2), (0, 0, NEIGHBOURS, NEIGHBOURS))
        shifted = (read[:, at : at + tokens] @ each.T for at, each in enumerate(self.maps))
        # A token that neighbours do not read still has itself.
        own = (means * ~attended.unsqueeze(2)) @ self.maps[NEIGHBOURS].T
        return torch.stack([*shifted, own]).sum(0)


class LightModules(nn.Module):
    """The light vectors of tokens: SRM, then LCM if there is a window.

    Args:
        settings: the ranker's settings.
        tokens: size of the vocabulary.
    """

    def __init__(self, settings: SRMSettings, tokens: int) -> None:
        super().__init__()
        self.settings = settings
        size = settings.sub_embeddings * settings.dimension
        self.table = nn.Embedding(tokens, size, sparse=True)
        self.attention = SingleScoreAttention(settings) if settings.mixes else None
        self.local = LocalContext(settings) if settings.window else None
        near = settings.context == "neighbours" and settings.needs_context
        self.neighbours = Neighbours(settings.dimension) if near else None

    def begin(self) -> None:
        """Let attention begin with what is most alike, which suits a table of centroids."""
        for part in (self.attention, self.local):
            if part is not None:
                part.begin()

    def sub_embeddings(self, ids: Tensor) -> Tensor:
        """Return the static vectors of tokens, (…, K, dimension) float32; ids are (…) int64."""
        settings = self.settings
        found: Tensor = self.table(ids)
        return found.reshape(*ids.shape, settings.sub_embeddings, settings.dimension)

    def forward(
        self, table: Tensor, attended: Tensor, context: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the light vectors of tokens, and the weights of their sub-embeddings.

        Args:
            table: the sub-embeddings s_i^k of the tokens, (texts, tokens, K, dimension) float32.
            attended: which tokens neighbours read: not special ones and not padding, (texts,
                tokens) bool.
            context: the oracle's vectors, (texts, tokens, dimension) float32; not used if the
                context is that of neighbours.

        Returns:
            (texts, tokens, dimension) float32, and (texts, tokens, K) float32 or None.
        """
        if self.neighbours is not None:
            context = self.neighbours(table.mean(2), attended)
        weights, vectors = None, table.mean(2)
        if self.attention is not None and context is not None:
            weights = self.attention(context, table)
            vectors = (weights.unsqueeze(2) @ table).squeeze(2)  # eq. 8.3
        if self.local is not None and context is not None:
            vectors = self.local(vectors, context, attended)
        cosine = self.settings.similarity == "cosine"
        return (normalize(vectors, dim=2) if cosine else vectors), weights


def _linear(size: int, out: int) -> nn.Linear:
    layer = nn.Linear(size, out, bias=False)
    nn.init.normal_(layer.weight, std=SPREAD)
    return layer


def _sharpness(size: int) -> float:
    """Return a factor of query and key by which attention is as sharp as `SHARPNESS` says."""
    return math.sqrt(SHARPNESS * math.sqrt(size))


def _one_hot(values: Tensor) -> Tensor:
    return nn.functional.one_hot(values.argmax(-1), values.shape[-1]).to(values.dtype)
