"""A dense encoder: a transformer, pooling, and layers over the pooled vector."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ranklet.runtime.dense.pooling import ADDITIVE
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.dense import INPUTS, DenseSettings
from ranklet.training.imported.layers import ACTIVATIONS
from ranklet.training.pretrained.backbone import takes_token_types


class DenseNetwork(nn.Module):
    """Encode texts as one vector each.

    RepBERT's vector is the mean of the last layer over all tokens, [CLS] and [SEP] included
    (Zhan et al., eq. 2). Queries and documents share all weights.

    Args:
        encoder: a model of transformers with a last_hidden_state.
        settings: pooling, similarity and dimension.
        layers: descriptions of the layers after pooling, see `make_layer`.
    """

    def __init__(
        self, encoder: nn.Module, settings: DenseSettings, layers: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.layers = nn.Sequential(*map(make_layer, layers))
        self._pooling, self._dimension = settings.pooling, settings.dimension
        self._normalise = settings.similarity == "cosine"
        self.inputs = INPUTS if takes_token_types(encoder) else INPUTS[:2]

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the vectors, (batch, dimension) float32.

        Args:
            input_ids: (batch, tokens) int64.
            attention_mask: (batch, tokens) int64, 1 at tokens and 0 at padding, which comes last.
            token_type_ids: (batch, tokens) int64; not used by an encoder without token types.
        """
        return self.pooled(self.states(input_ids, attention_mask, token_type_ids), attention_mask)

    def states(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the states of the last layer, (batch, tokens, hidden) float32; see `forward`."""
        types = {"token_type_ids": token_type_ids} if len(self.inputs) == len(INPUTS) else {}
        states: Tensor = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, **types
        ).last_hidden_state
        return states.float()

    def pooled(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the vectors of texts by the states of their tokens."""
        vectors: Tensor = self.layers(pool(states, attention_mask, self._pooling))
        vectors = vectors[:, : self._dimension]
        return normalize(vectors, dim=1) if self._normalise else vectors

    def with_states(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the vectors, (batch, dimension), and what is pooled, (batch, tokens, hidden).

        Explanations need the second output; see `TOKEN_STATES`.
        """
        states = self.states(input_ids, attention_mask, token_type_ids)
        return self.pooled(states, attention_mask), self.layers(states)

    @property
    def is_additive(self) -> bool:
        """Whether a vector, before it gets the length 1, is a weighted sum over tokens.

        A bias adds to each token in a mean, but the weights of mean_sqrt do not add up to 1.
        """
        linear = all(
            isinstance(part, nn.Linear | nn.Identity | nn.Sequential)
            and not (self._pooling == "mean_sqrt" and getattr(part, "bias", None) is not None)
            for part in self.layers.modules()
        )
        return self._pooling in ADDITIVE and linear


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Return one vector per text, (batch, hidden).

    Args:
        states: (batch, tokens, hidden) float32.
        mask: (batch, tokens) int64, 1 at tokens and 0 at padding, which comes last.
        pooling: one of `ranklet.runtime.rankers.dense.POOLINGS`.
    """
    if pooling == "cls":
        return states[:, 0]
    if pooling == "last":
        # No index by range(texts): a traced graph would keep the number of texts of its example.
        places = (mask.sum(1) - 1)[:, None, None].expand(-1, 1, states.shape[-1])
        return states.gather(1, places).squeeze(1)
    shown = mask.unsqueeze(-1).to(states.dtype)  # (batch, tokens, 1)
    if pooling == "max":
        return states.masked_fill(shown == 0, float("-inf")).amax(1)
    if pooling == "weighted_mean":  # later tokens weigh more (Muennighoff 2022, SGPT, eq. 2)
        shown = shown * torch.arange(1, states.shape[1] + 1, device=states.device)[None, :, None]
    total = (states * shown).sum(1)
    count = shown.sum(1).clamp(min=1e-9)
    return total / (count.sqrt() if pooling == "mean_sqrt" else count)


def make_layer(description: Mapping[str, Any]) -> nn.Module:
    """Return a layer with random weights.

    Args:
        description: ``{"type": "dense", "in": 384, "out": 128, "bias": True, "activation":
            "tanh"}`` or ``{"type": "layer_norm", "in": 384}``.

    Raises:
        InputError: the description is of no known layer.
    """
    try:
        if description["type"] == "layer_norm":
            return nn.LayerNorm(description["in"])
        linear = nn.Linear(description["in"], description["out"], bias=description["bias"])
        return nn.Sequential(linear, ACTIVATIONS[description["activation"]]())
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{dict(description)} describes no known layer: {error!r}") from error
