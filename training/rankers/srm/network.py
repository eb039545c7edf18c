"""The network of a light ranker: the oracle, if it is needed, and the modules after it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.colbert.settings import INPUTS
from ranklet.runtime.rankers.srm.settings import STATIC, SRMSettings
from ranklet.runtime.text.tokenizing import special_ids
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.chain import MODULES
from ranklet.training.learning.weights import check_kind, load_trained
from ranklet.training.pretrained.backbone import new_model
from ranklet.training.rankers.colbert.network import ColBERTNetwork
from ranklet.training.rankers.srm.modules import LightModules
from ranklet.training.rankers.srm.oracle import Padded

KIND = "srm"


class LightNetwork(nn.Module):
    """Encode texts as one light vector per token. Queries and documents share all weights.

    Args:
        settings: the ranker's settings.
        oracle: makes the context; None if nothing needs it.
        tokens: size of the vocabulary.
        special: ids of special tokens, which neighbours do not read.
    """

    def __init__(
        self,
        settings: SRMSettings,
        oracle: ColBERTNetwork | None,
        tokens: int,
        special: Sequence[int],
    ) -> None:
        super().__init__()
        self.oracle, self.light = oracle, LightModules(settings, tokens)
        self.inputs = (STATIC, *(INPUTS[:2] if oracle is None else oracle.inputs))
        self.register_buffer("special", torch.tensor(special), persistent=False)
        if oracle is not None:
            oracle.requires_grad_(requires_grad=False)

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return self.light.table.weight.device

    def attended(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return which tokens neighbours read, bool; ids and mask are (texts, tokens) int64."""
        special: Any = self.special
        read: Tensor = (mask > 0) & ~(ids.unsqueeze(2) == special).any(2)
        return read

    def forward(
        self,
        static: Tensor,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the vectors of all tokens and the weights of sub-embeddings; see `LightModules`.

        Args:
            static: the tokens' rows of the table, (texts, tokens, K, dimension) float32.
            input_ids: (texts, tokens) int64.
            attention_mask: (texts, tokens) int64.
            token_type_ids: (texts, tokens) int64; not used by an oracle without token types.
        """
        context = None
        if self.oracle is not None:
            context = self.oracle(input_ids, attention_mask, token_type_ids)
        attended = self.attended(input_ids, attention_mask)
        found: tuple[Tensor, Tensor | None] = self.light(static, attended, context)
        return found

    def served(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return what the graph returns: vectors, and weights if they depend on the context."""
        return tuple(each for each in self(*inputs) if each is not None)


def light_vectors(model: LightNetwork, texts: Padded) -> tuple[Tensor, Tensor | None]:
    """Return the light vectors and weights of texts whose oracle's vectors are at hand."""
    texts = texts.to(model.device)
    attended = model.attended(texts.ids, texts.present)
    table = model.light.sub_embeddings(texts.ids)
    found: tuple[Tensor, Tensor | None] = model.light(table, attended, texts.context)
    return found


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> LightNetwork:
    """Return the network of a checkpoint, in evaluation mode.

    Args:
        checkpoint: a checkpoint of this kind.
        attention: implementation in transformers: sdpa, or eager, which export needs.

    Raises:
        InputError: the checkpoint is of another kind, or its weights do not fit.
    """
    check_kind(checkpoint, KIND)
    settings: SRMSettings = checkpoint.settings
    tokenizer = checkpoint.need_tokenizer()
    oracle = None
    if not settings.static:
        build = partial(
            ColBERTNetwork, settings=settings, modules=checkpoint.network.get(MODULES, ())
        )
        oracle = build(new_model(checkpoint.network, attention, segments=False))
    tokens = len(checkpoint.weights["light.table.weight"])
    network = LightNetwork(settings, oracle, tokens, special_ids(tokenizer))
    return load_trained(network, checkpoint.weights)
