"""The modules of light contextualisation: the vectors of tokens without a transformer.

Source: Boualili 2022, "Deep learning for information retrieval", chapter 8. With the form ``code``
the modules follow the code that was published with it: a second softmax over the weights of
sub-embeddings, biases, a layer normalisation before the attention over neighbours, and no output
matrix after it.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import gumbel_softmax, normalize, softmax

from ranklet.runtime.rankers.srm.settings import SRMSettings

SPREAD = 0.02  # standard deviation of matrices at the start, as in the published code
SHARPNESS = 20.0  # of the first attention, in nats per unit of an inner product; see `begin`
MASKED = -1e4  # of a logit, because infinity would make rows without a neighbour undefined


class SingleScoreAttention(nn.Module):
    """SSCA, which gives each sub-embedding of a token one weight (eq. 8.1 and 8.2).

    Args:
        settings: dimension, heads, form and mixing.
    """

    def __init__(self, settings: SRMSettings) -> None:
        super().__init__()
        self.heads, size = settings.heads, settings.dimension
        self._softmax_twice, self._one = settings.form == "code", settings.mixing == "top1"
        self.query = _linear(size, size, bias=settings.form == "code")
        self.key = _linear(size, size, bias=settings.form == "code")

    def begin(self) -> None:
        """Attend to the sub-embeddings that are most like the context."""
        each = self.query.weight.shape[0] // self.heads
        with torch.no_grad():
            for layer in (self.query, self.key):
                nn.init.eye_(layer.weight).mul_(math.sqrt(SHARPNESS * math.sqrt(each)))

    def forward(self, context: Tensor, table: Tensor) -> Tensor:
        """Return the weights of sub-embeddings, (tokens, K) float32.

        Args:
            context: c_i, (tokens, dimension) float32.
            table: s_i^k, (tokens, K, dimension) float32.
        """
        count, size = context.shape
        each = size // self.heads
        query = self.query(context).view(count, self.heads, each)
        # (c W)(s V) = (c W Vᵀ) s. So the keys of all sub-embeddings need not be computed.
        weights = self.key.weight.view(self.heads, each, size)
        logits = torch.einsum("thd,tkd->thk", torch.einsum("the,hed->thd", query, weights), table)
        if self.key.bias is not None:
            bias = self.key.bias.view(self.heads, each)
            logits = logits + torch.einsum("the,he->th", query, bias).unsqueeze(2)
        logits = logits / math.sqrt(each)
        if self._one:
            best = logits.amax(1)
            return gumbel_softmax(best, hard=True) if self.training else _one_hot(best)
        mixed = softmax(logits, 2).amax(1)
        return softmax(mixed, 1) if self._softmax_twice else mixed


class LocalContext(nn.Module):
    """LCM, which refines half of a vector by attention over neighbours (eq. 8.4 to 8.6).

    Args:
        settings: dimension, heads, window and form.
    """

    def __init__(self, settings: SRMSettings) -> None:
        super().__init__()
        self.heads, self.window, size = settings.heads, settings.window, settings.dimension
        half, biased = size // 2, settings.form == "code"
        self.norm = nn.LayerNorm(half) if biased else nn.Identity()
        self.query = _linear(size, half, bias=biased)
        self.key = _linear(half, half, bias=biased)
        self.value = _linear(half, half, bias=biased)
        self.output = nn.Identity() if biased else _linear(half, half, bias=False)
        self.gate = _linear(size, size, bias=biased)

    def begin(self) -> None:
        """Attend to the token itself, so that vectors are at first hardly refined."""
        half = self.key.weight.shape[0]
        sharp = math.sqrt(SHARPNESS * math.sqrt(half // self.heads))
        with torch.no_grad():
            nn.init.zeros_(self.query.weight)[:, half:] = torch.eye(half) * sharp
            nn.init.eye_(self.key.weight).mul_(sharp)
            for layer in (self.value, self.output, self.gate):
                if isinstance(layer, nn.Linear):
                    nn.init.eye_(layer.weight)

    def forward(self, vectors: Tensor, context: Tensor, attended: Tensor) -> Tensor:
        """Return the refined vectors, (texts, tokens, dimension) float32.

        Args:
            vectors: e_i, (texts, tokens, dimension) float32.
            context: c_i, (texts, tokens, dimension) float32.
            attended: which tokens neighbours read, (texts, tokens) bool.
        """
        texts, tokens, size = vectors.shape
        kept, refined = vectors[:, :, : size // 2], vectors[:, :, size // 2 :]
        inner = self.norm(refined)

        def heads(values: Tensor) -> Tensor:
            return values.view(texts, tokens, self.heads, -1).transpose(1, 2)

        query, key = heads(self.query(context)), heads(self.key(inner))
        value = heads(self.value(inner))
        logits = query @ key.transpose(2, 3) / math.sqrt(key.shape[3])
        places = torch.arange(tokens, device=vectors.device)
        near = (places[:, None] - places[None, :]).abs() <= self.window
        seen = near[None, None] & attended[:, None, None, :]
        # Of a row without a neighbour softmax would read everything, padding too; it reads nothing.
        mixed = softmax(logits.masked_fill(~seen, MASKED), 3) * seen @ value
        whole = self.output(mixed.transpose(1, 2).reshape(texts, tokens, -1))
        gated: Tensor = self.gate(torch.cat([kept, whole], 2))
        return gated


class Neighbours(nn.Module):
    """The context of a token without an oracle: a linear map of its neighbours' static vectors.

    c_i = Σ_δ A_δ m_{i+δ} for δ from −window to window, where m is the mean of a token's
    sub-embeddings. It is not part of the thesis.

    Args:
        settings: dimension and context_window.
    """

    def __init__(self, settings: SRMSettings) -> None:
        super().__init__()
        size, self.window = settings.dimension, settings.context_window
        self.maps = nn.Parameter(torch.randn(2 * self.window + 1, size, size) * SPREAD)
        with torch.no_grad():
            self.maps[self.window] += torch.eye(size)

    def forward(self, means: Tensor, attended: Tensor) -> Tensor:
        """Return the context, (texts, tokens, dimension) float32.

        Args:
            means: the mean of each token's sub-embeddings, (texts, tokens, dimension) float32.
            attended: which tokens neighbours read, (texts, tokens) bool.
        """
        tokens, window = means.shape[1], self.window
        read = nn.functional.pad(means * attended.unsqueeze(2), (0, 0, window, window))
        shifted = (read[:, at : at + tokens] @ each.T for at, each in enumerate(self.maps))
        # A token that neighbours do not read still has itself.
        own = (means * ~attended.unsqueeze(2)) @ self.maps[window].T
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
        self.neighbours = Neighbours(settings) if near else None

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

    def weights(self, table: Tensor, context: Tensor | None) -> Tensor | None:
        """Return the weights of sub-embeddings, (texts, tokens, K); None for their mean."""
        if self.attention is None or context is None:
            return None
        weights: Tensor = self.attention(context.flatten(0, 1), table.flatten(0, 1))
        return weights.reshape(*context.shape[:2], -1)

    def forward(
        self, ids: Tensor, attended: Tensor, context: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the light vectors of tokens, and the weights of their sub-embeddings.

        Args:
            ids: the tokens' ids, (texts, tokens) int64.
            attended: which tokens neighbours read: not special ones and not padding, (texts,
                tokens) bool.
            context: the oracle's vectors, (texts, tokens, dimension) float32; not used if the
                context is that of neighbours.

        Returns:
            (texts, tokens, dimension) float32, and (texts, tokens, K) float32 or None.
        """
        table = self.sub_embeddings(ids)
        if self.neighbours is not None:
            context = self.neighbours(table.mean(2), attended)
        weights = self.weights(table, context)
        vectors = (
            table.mean(2) if weights is None else torch.einsum("ntk,ntkd->ntd", weights, table)
        )
        if self.local is not None and context is not None:
            vectors = self.local(vectors, context, attended)
        cosine = self.settings.similarity == "cosine"
        return (normalize(vectors, dim=2) if cosine else vectors), weights


def _linear(size: int, out: int, *, bias: bool) -> nn.Linear:
    layer = nn.Linear(size, out, bias=bias)
    nn.init.normal_(layer.weight, std=SPREAD)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def _one_hot(values: Tensor) -> Tensor:
    return nn.functional.one_hot(values.argmax(1), values.shape[1]).to(values.dtype)
