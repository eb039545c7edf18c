"""Run by `encoding_speed` in the environment of the peers: who turns texts into vectors how fast.

``python -m benchmarks.speed.encoding_contest REQUEST.json`` prints JSON: ms by contender and
text, how far each one's vectors are from PyTorch's, and ms by contender and length.
"""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.timing import take_turns
from ranklet.runtime.onnx.encoder import VARIANTS, Encoder, variant_files
from ranklet.runtime.onnx.openvino_session import OpenVINOSession
from ranklet.runtime.onnx.session import Session

Vector = NDArray[np.float32]
Encode = Callable[[str], Vector]

MAX_TOKENS, ROUNDS, COMPARED = 128, 5, 50
LENGTHS, REPEATED = (16, 64, 128, 256), 15  # tokens; texts of each length
PEERS = (
    "sentence-transformers",
    "optimum-onnx",
    "fastembed",
    "onnxruntime",
    "openvino",
    "torch",
    "transformers",
)


def main() -> None:
    """Time every contender on the texts of the request."""
    request = json.loads(Path(sys.argv[1]).read_text())
    ours, theirs = Path(request["ours"]), Path(request["theirs"])
    contenders: dict[str, Encode] = {
        "ranklet, int8": ranklet_encoder(ours, "model_int8.onnx"),
        "ranklet, OpenVINO int8": ranklet_encoder(ours, VARIANTS["openvino"]),
        "ranklet, fp32": ranklet_encoder(ours, "model.onnx"),
        "PyTorch eager": torch_encoder(request["model"]),
        **sentence_transformers(request["model"], theirs),
        "FastEmbed, fp32": fastembed(theirs),
        "OpenVINO int8 (nncf)": openvino_int8(ours),
    }
    found: dict[str, Any] = {"versions": {name: version(name) for name in PEERS}}
    for kind in ("queries", "documents"):
        texts: list[str] = request[kind]
        exact = [unit(contenders["PyTorch eager"](text)) for text in texts[:COMPARED]]
        found[kind] = {
            "tokens": request[f"{kind}_tokens"],
            "cosine": {
                name: float(
                    np.mean([unit(encode(t)) @ v for t, v in zip(texts, exact, strict=False)])
                )
                for name, encode in contenders.items()
            },
            "ms": {n: ms.tolist() for n, ms in take_turns(contenders, texts, ROUNDS).items()},
        }
    found["lengths"] = by_length(ours)
    print(json.dumps(found))


def by_length(ours: Path) -> dict[str, dict[int, float]]:
    """Return ms by contender and number of tokens, of texts with exactly as many.

    The text is a word that is one token, as often as it takes with [CLS] and [SEP].
    """
    contenders = {
        "ranklet, int8": ranklet_encoder(ours, "model_int8.onnx", max(LENGTHS)),
        "ranklet, OpenVINO int8": ranklet_encoder(ours, VARIANTS["openvino"], max(LENGTHS)),
        "OpenVINO int8 (nncf)": openvino_int8(ours, max(LENGTHS)),
    }
    ms: dict[str, dict[int, float]] = {name: {} for name in contenders}
    for tokens in LENGTHS:
        texts = ["apple " * (tokens - 2)] * REPEATED
        for name, times in take_turns(contenders, texts, ROUNDS, REPEATED).items():
            ms[name][tokens] = float(np.median(times))
    return ms


def unit(vector: Vector) -> Vector:
    """Return a vector of length 1, float64."""
    found: Vector = np.asarray(vector, np.float64) / np.linalg.norm(vector)
    return found


def ranklet_encoder(folder: Path, file: str, max_tokens: int = MAX_TOKENS) -> Encode:
    """Return ours: the runtime's encoder."""
    from tokenizers import Tokenizer

    content, *weights = ((folder / each).read_bytes() for each in variant_files(file))
    session = (
        OpenVINOSession(content, weights[0], file) if weights
        else Session(content, file, device="cpu")
    )  # fmt: skip
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoder = Encoder(session, "sentence_embedding", tokenizer, 384)
    return lambda text: encoder.encode([text], max_tokens, 0).vectors[0]


def torch_encoder(model: str) -> Encode:
    """Return transformers' model in PyTorch, with the mean of its last layer."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModel.from_pretrained(model).eval()

    def encode(text: str) -> Vector:
        with torch.inference_mode():
            fed = tokenizer(text, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
            vector: Vector = network(**fed).last_hidden_state.mean(1)[0].numpy()
            return vector

    return encode


def sentence_transformers(model: str, folder: Path) -> dict[str, Encode]:
    """Return sentence-transformers with PyTorch, and with ONNX as it exports and quantises it."""
    import onnxruntime
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.backend import export_dynamic_quantized_onnx_model

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    given = {"provider": "CPUExecutionProvider", "session_options": options}
    if not (folder / "onnx").is_dir():
        made = SentenceTransformer(model, backend="onnx", model_kwargs={**given, "export": True})
        made.save_pretrained(str(folder))
        export_dynamic_quantized_onnx_model(made, "avx512_vnni", str(folder))
    small = next(path.name for path in (folder / "onnx").iterdir() if "int8" in path.name)

    def encoder(**options: Any) -> Encode:
        found = SentenceTransformer(str(folder) if options else model, **options)
        found.max_seq_length = MAX_TOKENS
        return lambda text: np.asarray(found.encode(text, show_progress_bar=False))

    return {
        "sentence-transformers, PyTorch": encoder(),
        "sentence-transformers, ONNX fp32": encoder(
            backend="onnx", model_kwargs={**given, "file_name": "onnx/model.onnx"}
        ),
        "sentence-transformers, ONNX int8": encoder(
            backend="onnx", model_kwargs={**given, "file_name": f"onnx/{small}"}
        ),
    }


def fastembed(folder: Path) -> Encode:
    """Return FastEmbed's engine on the ONNX file that sentence-transformers exported."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="local/minilm",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf="local/minilm"),
        dim=384,
        model_file="onnx/model.onnx",
    )
    found = TextEmbedding("local/minilm", specific_model_path=str(folder), threads=1)
    return lambda text: np.asarray(next(iter(found.embed([text]))))


def openvino_int8(folder: Path, max_tokens: int = MAX_TOKENS) -> Encode:
    """Return OpenVINO without ranklet, on the model that nncf made for it."""
    import openvino
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    options = {
        "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }  # fmt: skip
    path = str(folder / VARIANTS["openvino"])
    request = openvino.Core().compile_model(path, "CPU", options).create_infer_request()

    def encode(text: str) -> Vector:
        ids = np.array([tokenizer.encode(text).ids])
        mask, segments = np.ones_like(ids), np.zeros_like(ids)
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
        vector: Vector = np.array(request.infer(fed)["sentence_embedding"][0])
        return vector

    return encode


if __name__ == "__main__":
    main()
