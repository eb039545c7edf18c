"""ColBERT's network: a transformer, and linear layers over the state of each token."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.colbert.settings import INPUTS, ColBERTSettings
from ranklet.training.imported.encoder import takes_token_types
from ranklet.training.imported.layers import ACTIVATIONS

LAYERS = "ranklet_token_layers"  # key in config.json: the layers over each token's state, in order


class TokenLayer(nn.Module):
    """A linear layer over the vector of each token, with an activation and perhaps a residual.

    Args:
        description: ``{"in": 384, "out": 128, "bias": False, "activation": "identity", "residual":
            False}``. A residual between different sizes is projected, too.

    Raises:
        InputError: the description is of no known layer.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        super().__init__()
        try:
            size, out = description["in"], description["out"]
            self.linear = nn.Linear(size, out, bias=description["bias"])
            self.activation = ACTIVATIONS[description["activation"]]()
            self._adds = bool(description["residual"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"{dict(description)} describes no known layer: {error!r}") from error
        projects = self._adds and size != out
        self.residual = nn.Linear(size, out, bias=False) if projects else None

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the vectors of the tokens, (texts, tokens, out) float32."""
        made: Tensor = self.activation(self.linear(vectors))
        if not self._adds:
            return made
        return made + (vectors if self.residual is None else self.residual(vectors))


class ColBERTNetwork(nn.Module):
    """Encode texts as one vector per token. Queries and documents share all weights.

    Args:
        encoder: a model of transformers with a last_hidden_state.
        settings: similarity and dimension.
        layers: descriptions of the layers after the transformer; see `TokenLayer`.

    Raises:
        InputError: the layers end in another dimension than that of the settings.
    """

    def __init__(
        self, encoder: nn.Module, settings: ColBERTSettings, layers: Sequence[Mapping[str, Any]]
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(*map(TokenLayer, layers))
        self._normalise = settings.similarity == "cosine"
        self.inputs = INPUTS if takes_token_types(encoder) else INPUTS[:2]
        ends = layers[-1]["out"] if layers else encoder.config.hidden_size  # type: ignore[union-attr]
        if ends != settings.dimension:
            raise InputError(
                f"the network's vectors have {ends} numbers, but the settings say "
                f"{settings.dimension}"
            )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the vectors of all tokens, (texts, tokens, dimension) float32.

        Args:
            input_ids: (texts, tokens) int64.
            attention_mask: (texts, tokens) int64, 1 at tokens that others attend to. The others
                come last: padding, and an expansion that is not attended to.
            token_type_ids: (texts, tokens) int64; not used by an encoder without token types.
        """
        types = {"token_type_ids": token_type_ids} if len(self.inputs) == len(INPUTS) else {}
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, **types
        ).last_hidden_state
        vectors: Tensor = self.head(states.float())
        return normalize(vectors, dim=2) if self._normalise else vectors


def max_sim(queries: Tensor, documents: Tensor, kept: Tensor, read: Tensor) -> Tensor:
    """Return MaxSim of all pairs, Σ_i max_j q_i · d_j, (queries, documents) float32.

    Args:
        queries: (queries, query tokens, dimension) float32.
        documents: (documents, tokens, dimension) float32.
        kept: which tokens of the queries have a vector, (queries, query tokens) bool.
        read: which tokens of the documents have one, (documents, tokens) bool.
    """
    products = torch.einsum("qid,njd->qnij", queries, documents)
    best = products.masked_fill(~read[None, :, None, :], -torch.inf).amax(3)
    # A document without a vector scores 0, as in serving.
    best = best.masked_fill(~read.any(1)[None, :, None], 0.0)
    return (best * kept[:, None, :]).sum(2)
