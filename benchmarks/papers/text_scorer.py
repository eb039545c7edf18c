"""Score pairs of texts by the checkpoint of a cross-encoder, without exporting it."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.corpus.indexing.wordpieces import padding_token
from ranklet.runtime.text.pairing import Pairing
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.device import choose_device
from ranklet.training.rankers.cross_encoder.training import load_any, score_pairs


def text_scorer(
    checkpoint: Checkpoint, device: str = "cpu"
) -> Callable[[Sequence[tuple[str, str]]], NDArray[np.float32]]:
    """Return a function that scores pairs of a query and a document, (pairs,) float32.

    The checkpoint may be trained or imported. The device is a name that `choose_device` knows.
    """
    model = load_any(checkpoint, attention="sdpa").to(choose_device(device))
    tokenizer = checkpoint.need_tokenizer()
    pairing, padding = Pairing(checkpoint.settings, tokenizer), padding_token(tokenizer)

    def score(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        made = [pairing.pair_texts(*texts) for texts in pairs]
        with torch.inference_mode():
            return score_pairs(model, made, padding)

    return score
