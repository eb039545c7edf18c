"""What an encoder ranks before any step of a training that begins with it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize

from benchmarks.papers.searched import Asked, Data, Lists, Trained, again
from ranklet.corpus.indexing.ragged import by_length
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.imported.importing import read_model
from ranklet.training.learning.device import choose_device
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.dense import training as dense
from ranklet.training.rankers.splade import training as splade

READ, TOKENS = 50, 128  # documents of BM25 that are ranked anew, as by cross-encoders; per text


def rank_untrained(_: Data, options: dict[str, Any]) -> Trained:
    """Rank BM25's first anew: a SPLADE by its terms, another encoder by its vectors' cosine."""
    kind, device = options["form"], choose_device("auto")
    checkpoint = read_model(options.get("backbone") or wheel_folder(), kind=kind)
    settings: Any = replace(
        checkpoint.settings, max_query_tokens=TOKENS, max_document_tokens=TOKENS
    )
    module: Any = splade if kind == "splade" else dense
    model: Any = module.load(replace(checkpoint, settings=settings)).to(device).eval()

    def encode(texts: Sequence[str], then: Any) -> NDArray[np.float32]:
        tokens = tokenise(checkpoint.need_tokenizer(), texts, TOKENS)

        def run(rows: NDArray[np.intp]) -> NDArray[np.float32]:
            vectors = model(*encoder_inputs(tokens, rows, 0, 0, device)).float()
            made = vectors if kind == "splade" else normalize(vectors, dim=1)
            return np.asarray(then(made).cpu().numpy())

        return by_length(tokens.lengths, 64, run)

    def rank(asked: Asked) -> Mapping[str, Lists]:
        numbers = np.unique(np.concatenate([found[:READ] for found in asked.found]))
        with torch.inference_mode():
            queries = torch.from_numpy(encode([each.text for each in asked.queries], _same))
            # No vector is kept, because a SPLADE's have a number per piece.
            scores = encode([asked.text(int(each)) for each in numbers], lambda v: v @ queries.T)
        of = [
            scores[np.searchsorted(numbers, found[:READ]), at]
            for at, found in enumerate(asked.found)
        ]
        return {"": [again(found, own) for found, own in zip(asked.found, of, strict=True)]}

    return Trained(checkpoint, rank, {})


def _same(vectors: torch.Tensor) -> torch.Tensor:
    return vectors
