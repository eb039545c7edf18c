"""ColBERT's network: a transformer, and linear layers over the state of each token."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.training.imported.chain import STATES, Chain


class ColBERTNetwork(Chain):
    """Encode texts as one vector per token. Queries and documents share all weights.

    Args:
        encoder: a model of transformers with a last_hidden_state.
        settings: similarity and dimension.
        modules: descriptions of the modules after the transformer; see `Chain`.

    Raises:
        InputError: the modules end in another dimension than that of the settings.
    """

    def __init__(
        self, encoder: Any, settings: ColBERTSettings, modules: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(encoder, modules)
        self._normalise = settings.similarity == "cosine"
        ends = modules[-1]["out_features"] if modules else encoder.config.hidden_size
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
        features = self.follow(self.read(input_ids, attention_mask, token_type_ids))
        vectors: Tensor = features[STATES]
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
