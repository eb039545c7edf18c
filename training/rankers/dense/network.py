"""A dense encoder: a transformer, pooling, and modules over the pooled vector."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ranklet.runtime.dense.pooling import ADDITIVE
from ranklet.runtime.rankers.dense import OUTPUT, OWN_POOLING, DenseSettings
from ranklet.training.imported.chain import STATES, Chain, is_dense


class DenseNetwork(Chain):
    """Encode texts as one vector each.

    RepBERT's vector is the mean of the last layer over all tokens, [CLS] and [SEP] included
    (Zhan et al., eq. 2). Queries and documents share all weights.

    Args:
        encoder: a model of transformers with a last_hidden_state.
        settings: pooling, similarity and dimension.
        modules: descriptions of the modules after the pooling, or after the transformer if they
            pool themselves; see `Chain`.
    """

    def __init__(
        self, encoder: nn.Module, settings: DenseSettings, modules: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(encoder, modules)
        self._pooling, self._dimension = settings.pooling, settings.dimension
        self._normalise = settings.similarity == "cosine"

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the vectors, (batch, dimension) float32.

        Args:
            input_ids: (batch, tokens) int64.
            attention_mask: (batch, tokens) int64, 1 at tokens and 0 at padding, which comes last.
            token_type_ids: (batch, tokens) int64; not used by an encoder without token types.
        """
        return self.pooled(self.read(input_ids, attention_mask, token_type_ids))

    def states(self, *inputs: Tensor) -> Tensor:
        """Return the states of the last layer, (batch, tokens, hidden) float32; see `forward`."""
        states: Tensor = self.read(*inputs)[STATES]
        return states

    def pooled(self, features: Mapping[str, Any]) -> Tensor:
        """Return the vectors of texts by what `read` returns."""
        vectors = self._vectors(features)[:, : self._dimension]
        return normalize(vectors, dim=1) if self._normalise else vectors

    def _vectors(self, features: Mapping[str, Any], vectors: Tensor | None = None) -> Tensor:
        """Return what the modules make of pooled vectors; None pools the states."""
        if vectors is None and self._pooling != OWN_POOLING:
            vectors = pool(features[STATES], features["attention_mask"], self._pooling)
        found: Tensor = self.follow({**features, OUTPUT: vectors})[OUTPUT]
        return found

    def with_states(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the vectors, (batch, dimension), and what is pooled, (batch, tokens, hidden).

        Explanations need the second output; see `TOKEN_STATES`.
        """
        features = self.read(*inputs)
        return self.pooled(features), self._vectors(features, features[STATES])

    @property
    def is_additive(self) -> bool:
        """Whether a vector, before it gets the length 1, is a weighted sum over tokens.

        A bias adds to each token in a mean, but the weights of mean_sqrt do not add up to 1.
        """
        linear = all(
            (isinstance(part, nn.Linear | nn.Identity | nn.ModuleList) or is_dense(part))
            and not (
                self._pooling == "mean_sqrt"
                and isinstance(part, nn.Linear)
                and part.bias is not None
            )
            for part in self.after.modules()
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
