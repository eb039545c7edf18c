"""What sentence-transformers makes of texts by a saved model, and the inputs that it reads."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.exporting.models import LIBRARY
from ranklet.export.proof.parity import parity_texts

_TEXTS = parity_texts().first(5, 10)  # of those that every export stores scores of
QUERIES, DOCUMENTS = _TEXTS.queries, _TEXTS.documents


def open_original(kind: str, folder: Path) -> Any:
    """Return a model in float32 on the CPU."""
    import sentence_transformers as library

    plain = {"attn_implementation": "eager"}
    model = getattr(library, LIBRARY[kind])(str(folder), device="cpu", model_kwargs=plain)
    return model.float().eval()


def score_all(kind: str, model: Any) -> NDArray[np.float32]:
    """Return the score of each query and document, (queries, documents)."""
    options: dict[str, Any] = {"show_progress_bar": False, "batch_size": 1}
    if kind == "cross":
        pairs = [(query, document) for query in QUERIES for document in DOCUMENTS]
        scores = np.asarray(model.predict(pairs, **options), np.float32)
        return scores.reshape(len(QUERIES), len(DOCUMENTS))
    queries = model.encode_query(list(QUERIES), **options)
    documents = model.encode_document(list(DOCUMENTS), **options)
    return np.asarray(model.similarity(queries, documents), np.float32)


def read_inputs(kind: str, model: Any) -> list[dict[str, Any]]:
    """Return the inputs of the network for each text or pair, and what the model makes of them."""
    rows = []
    if kind == "cross":
        from torch.nn import Identity

        texts: list[Any] = [(QUERIES[0], document) for document in DOCUMENTS]
        made = model.predict(texts, activation_fn=Identity(), batch_size=1)
        prompt = model.prompts.get(model.default_prompt_name)
        given = [model.preprocess([text], prompt=prompt) for text in texts]
    else:
        options = {"convert_to_sparse_tensor": False} if kind == "sparse" else {}
        made = model.encode_document(list(DOCUMENTS), batch_size=1, **options)
        prompt = model.prompts.get("document") or model.prompts.get("passage")
        given = [model.preprocess([text], prompt=prompt, task="document") for text in DOCUMENTS]
    for features, output in zip(given, made, strict=True):
        inputs = {
            name: values.tolist() for name, values in features.items() if hasattr(values, "tolist")
        }
        rows.append({"inputs": inputs, "output": np.asarray(output, np.float32).tolist()})
    return rows
