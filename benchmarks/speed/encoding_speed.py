"""How long a text takes to become a vector, one at a time, on one core: ours, PyTorch and peers.

The same MiniLM-L6 weights everywhere. The peers run in an environment of their own, since
sentence-transformers' ONNX backend needs older packages than ours; so do we, for this benchmark, so
that all are in one process and take turns.
"""

from pathlib import Path

import numpy as np

from benchmarks.harness.contest import contest
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal_at_least, table
from ranklet.corpus.collections.splits import read_split
from ranklet.export.onnx.graph import TorchSession, Transformer, example_inputs, export_graph
from ranklet.export.onnx.openvino_int8 import quantise
from ranklet.export.onnx.variants import convert
from ranklet.runtime.onnx.encoder import VARIANTS, Encoder, variant_files
from ranklet.runtime.rankers.dense import INPUTS, OUTPUT, DenseSettings
from ranklet.training.pretrained.backbone import load_backbone, wheel_folder
from ranklet.training.rankers.dense.network import DenseNetwork

PACKAGES = ("onnx", "openvino", "nncf")
COLLECTION, QUERIES, DOCUMENTS, CALIBRATION, MAX_TOKENS = "qa-mix", 200, 40, 150, 128
THEIRS = "minilm.peers"  # MiniLM as sentence-transformers exports it


def run(place: Place) -> str:
    """Export MiniLM, then have the contest in the peers' environment."""
    collection = place.collection(COLLECTION)
    texts = {document.id: document.text for document in collection.documents()}
    judged = read_split(collection, "dev", limit=QUERIES)
    documents = [texts[next(iter(each.relevant))] for each in judged[:DOCUMENTS]]
    learned = read_split(collection, "train", limit=CALIBRATION)
    calibration = [text for q in learned for text in (q.text, texts[next(iter(q.relevant))])]
    ours = place.keep("minilm.onnx", lambda path: _export(path, calibration))
    theirs = place.work / THEIRS
    queries = [each.text for each in judged]
    request = {
        "ours": str(ours),
        "theirs": str(theirs),
        "model": str(wheel_folder()),
        "queries": queries,
        "queries_tokens": _tokens(queries),
        "documents": documents,
        "documents_tokens": _tokens(documents),
    }
    found = contest(place, "encoding_contest", request)
    ms = {kind: {n: float(np.median(m)) for n, m in found[kind]["ms"].items()}
          for kind in ("queries", "documents")}  # fmt: skip
    slowest = "PyTorch eager"
    rows = [
        [
            name,
            *(
                cell
                for kind in ("queries", "documents")
                for cell in (
                    f"{ms[kind][name]:.2f}",
                    f"{ms[kind][slowest] / ms[kind][name]:.2f}",
                    f"{found[kind]['cosine'][name]:.4f}",
                )
            ),
        ]
        for name in ms["queries"]
    ]
    head = ["", "query, ms", "× PyTorch", "cosine", "document, ms", "× PyTorch", "cosine"]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    quick, plain = ms["queries"]["ranklet, int8"], ms["queries"]["ranklet, fp32"]
    lengths = found["lengths"]
    tokens = list(lengths["ranklet, int8"])
    by_length = [[name, *(f"{lengths[name][count]:.2f}" for count in tokens)] for name in lengths]
    best = [
        lengths["OpenVINO int8 (nncf)"][count]
        / min(lengths["ranklet, int8"][count], lengths["ranklet, OpenVINO int8"][count])
        for count in tokens
    ]
    return f"""
{QUERIES} dev queries of {COLLECTION} ({found["queries"]["tokens"]:.0f} tokens on average) and \
{DOCUMENTS} of their documents ({found["documents"]["tokens"]:.0f} tokens, {MAX_TOKENS} at most), \
from text to vector, one text a call, one thread; medians over texts of medians of 5 rounds. \
*Cosine*: with PyTorch's vector, mean of 50 texts.

{table(head, rows)}

{goal_at_least("queries, int8 against fp32", plain / quick, 2)}

Texts of exactly as many tokens, ms per text, without a change of length:

{table(["", *(f"{count} tokens" for count in tokens)], by_length)}

{goal_at_least("the slowest length against OpenVINO", min(best), 0.97)}
- *OpenVINO int8 (nncf)* is OpenVINO without ranklet, on the model that nncf made with its \
defaults for transformers. In the first table the length changes from text to text, which takes it \
about 1 ms each time.
- int8 of sentence-transformers is its `export_dynamic_quantized_onnx_model` for avx512_vnni. \
FastEmbed runs the fp32 file that sentence-transformers exported, as it runs such files of its own.
- Versions in the peers' environment: {versions}.
"""


def _export(folder: Path, calibration: list[str]) -> None:
    """Write MiniLM with RepBERT's pooling, fp32, int8 and for OpenVINO, and its tokenizer."""
    folder.mkdir(parents=True)
    backbone = load_backbone(attention="eager")
    module = DenseNetwork(backbone.model, DenseSettings(similarity="dot")).eval()
    config = backbone.config
    transformer = Transformer(
        config.num_attention_heads, config.hidden_size, config.num_hidden_layers
    )
    graph = folder / "graph.onnx"
    export_graph(module, example_inputs(INPUTS), OUTPUT, graph, transformer)
    recorded = TorchSession(module)
    encoder = Encoder(recorded, OUTPUT, backbone.tokenizer, config.hidden_size)
    encoder.encode(calibration, MAX_TOKENS, 0)
    for variant in ("fp32", "int8"):
        convert(variant, graph, folder / VARIANTS[variant], recorded.feeds)
    export_graph(module, example_inputs(INPUTS), OUTPUT, graph)  # without fusion
    files = variant_files(VARIANTS["openvino"])
    for file, content in zip(files, quantise(graph, recorded.feeds), strict=True):
        (folder / file).write_bytes(content)
    graph.unlink()
    backbone.tokenizer.save(str(folder / "tokenizer.json"))


def _tokens(texts: list[str]) -> float:
    encoded = load_backbone().tokenizer.encode_batch(texts)
    return float(np.mean([min(MAX_TOKENS, len(each.ids)) for each in encoded]))
