"""Light vectors of a ColBERT, which rank BM25's first documents anew; next to them their oracle."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.plans import ORACLE
from benchmarks.papers.searched import Asked, Data, Lists, Trained, again
from ranklet.runtime.dense.maxsim import TokenStore, quantise_query
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.rankers.srm.material import Material
from ranklet.training.rankers.srm.network import load
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import TokenVectors, oracle_vectors
from ranklet.training.rankers.srm.training import learn, read_vectors

READ = 50  # documents of BM25 that are ranked anew
ELEMENT = "int16"
SIZES: dict[str, Any] = {
    "batch": 32, "distil_texts": 2_000, "distil_steps": 150, "distil_batch": 32,
    "max_query_tokens": 24, "max_document_tokens": 64,
}  # fmt: skip


def train(data: Data, options: dict[str, Any]) -> Trained:
    """Train light vectors of the ColBERT of a folder; its vectors of texts are kept beside it."""
    made = Options(**{**SIZES, **options})
    kept = Path(f"{made.oracle}.vectors")
    kept.mkdir(exist_ok=True)
    material = Material.read(*data, replace(made, folder=kept, resume=False))
    checkpoint = learn(material, made)
    model = load(checkpoint)
    tokenizer = material.oracle.need_tokenizer()
    layout = TokenLayout(material.oracle.settings, tokenizer)

    def rank(asked: Asked) -> Mapping[str, Lists]:
        numbers = sorted({int(each) for found in asked.found for each in found[:READ]})
        place = {number: at for at, number in enumerate(numbers)}

        def read(texts: Sequence[str], role: Any) -> TokenVectors:
            tokens = tokenise(tokenizer, texts, layout.limit(role))
            return oracle_vectors(material.network, layout, role, tokens, kept, f"{role}s")

        documents = read([asked.text(number) for number in numbers], "document")
        queries = read([each.text for each in asked.queries], "query")

        def lists(of: Any) -> Lists:
            stored = TokenStore.of(of(documents), ELEMENT, checkpoint.settings.dimension)
            ranked = []
            for query, found in zip(of(queries), asked.found, strict=True):
                own = np.array([place[int(number)] for number in found[:READ]], np.int64)
                ranked.append(again(found, stored.scores(quantise_query(query, ELEMENT), own)))
            return ranked

        light = lists(lambda texts: read_vectors(model, texts, range(len(texts))))
        return {"": light, ORACLE: lists(_of_oracle)}

    return Trained(checkpoint, rank, {})


def _of_oracle(texts: TokenVectors) -> list[NDArray[np.float32]]:
    return [texts.tokens([at])[1].astype(np.float32) for at in range(len(texts))]
