"""Run by `cross_speed` in the environment of the peers: who reranks how fast.

``python -m benchmarks.speed.cross_contest REQUEST.json`` prints JSON: ms by contender and
query, and how far each one's order is PyTorch's.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.timing import take_turns
from ranklet import runtime

Scores = NDArray[np.float64]
Asked = tuple[str, list[str]]
Rerank = Callable[[Asked], Scores]

ROUNDS, BATCH = 3, 32
PEERS = (
    "sentence-transformers", "optimum-onnx", "flashrank", "onnxruntime", "torch", "transformers",
)  # fmt: skip
# A name of FlashRank's own, under which it looks for a file of the name beside it.
FLASHRANK, FLASHRANK_FILE = "ms-marco-TinyBERT-L-2-v2", "flashrank-TinyBERT-L-2-v2.onnx"


def main() -> None:
    """Time every contender on the queries of the request."""
    request = json.loads(Path(sys.argv[1]).read_text())
    theirs, tokens = Path(request["theirs"]), request["tokens"]
    asked: list[Asked] = [(query, documents) for query, documents in request["asked"]]
    contenders: dict[str, Rerank] = {
        **{f"ranklet, {name}": ranklet_reranker(path) for name, path in request["ours"].items()},
        **sentence_transformers(theirs, tokens),
        "FlashRank, fp32": flashrank(theirs, "model.onnx", tokens),
        "FlashRank, int8": flashrank(theirs, _small(theirs), tokens),
    }
    exact = [contenders["PyTorch eager"](each) for each in asked]
    kendall = {
        name: float(np.mean([_kendall(f(a), e) for a, e in zip(asked, exact, strict=True)]))
        for name, f in contenders.items()
    }
    times = take_turns(contenders, asked, ROUNDS, block=2)
    found: dict[str, Any] = {
        "versions": {name: version(name) for name in PEERS},
        "kendall": kendall,
        "ms": {name: ms.tolist() for name, ms in times.items()},
    }
    print(json.dumps(found))


def ranklet_reranker(bundle: str) -> Rerank:
    """Return ours: the runtime, on texts that it is given."""
    loaded = runtime.load(bundle, device="cpu")

    def rerank(asked: Asked) -> Scores:
        return loaded.score(asked[0], asked[1]).astype(np.float64)

    return rerank


def sentence_transformers(folder: Path, tokens: int) -> dict[str, Rerank]:
    """Return its CrossEncoder with PyTorch, and with ONNX as it exports and quantises it."""
    import onnxruntime
    import torch
    from sentence_transformers import CrossEncoder
    from sentence_transformers.backend import export_dynamic_quantized_onnx_model

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    given = {"provider": "CPUExecutionProvider", "session_options": options}
    if not (folder / "onnx").is_dir():
        made = CrossEncoder(str(folder), backend="onnx", model_kwargs={**given, "export": True})
        made.save_pretrained(str(folder))
        export_dynamic_quantized_onnx_model(made, "avx512_vnni", str(folder))

    def reranker(**options: Any) -> Rerank:
        found = CrossEncoder(str(folder), max_length=tokens, **options)
        identity = torch.nn.Identity()

        def rerank(asked: Asked) -> Scores:
            pairs = [(asked[0], text) for text in asked[1]]
            return np.asarray(
                found.predict(
                    pairs, batch_size=BATCH, activation_fn=identity, show_progress_bar=False
                ),
                np.float64,
            )

        return rerank

    return {
        "PyTorch eager": reranker(),
        "sentence-transformers, ONNX fp32": reranker(
            backend="onnx", model_kwargs={**given, "file_name": "onnx/model.onnx"}
        ),
        "sentence-transformers, ONNX int8": reranker(
            backend="onnx", model_kwargs={**given, "file_name": f"onnx/{_small(folder)}"}
        ),
    }


def flashrank(folder: Path, file: str, tokens: int) -> Rerank:
    """Return FlashRank's engine on one of the ONNX files that sentence-transformers made."""
    from flashrank import Ranker, RerankRequest

    cache = folder / f"flashrank-{file}"
    shutil.rmtree(cache, ignore_errors=True)
    model = cache / FLASHRANK
    model.mkdir(parents=True)
    shutil.copy(folder / "onnx" / file, model / FLASHRANK_FILE)
    for each in (
        "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
    ):  # fmt: skip
        shutil.copy(folder / each, model / each)
    found = Ranker(model_name=FLASHRANK, cache_dir=str(cache), max_length=tokens)

    def rerank(asked: Asked) -> Scores:
        passages = [{"id": at, "text": text} for at, text in enumerate(asked[1])]
        scores = np.zeros(len(passages))
        for each in found.rerank(RerankRequest(query=asked[0], passages=passages)):
            scores[each["id"]] = each["score"]
        return scores

    return rerank


def _small(folder: Path) -> str:
    return next(path.name for path in (folder / "onnx").iterdir() if "int8" in path.name)


def _kendall(first: Scores, second: Scores) -> float:
    """Return Kendall's τ of two orders, ties counted as neither."""
    rows, columns = np.triu_indices(len(first), 1)
    signs = np.sign(first[rows] - first[columns]) * np.sign(second[rows] - second[columns])
    return float(signs.mean())


if __name__ == "__main__":
    main()
