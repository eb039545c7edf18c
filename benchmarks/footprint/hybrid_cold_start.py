"""From a fresh process to the first hybrid answer, stage by stage, beside FastEmbed and others.

qa-mix: BM25 and RepBERT over 41,250 documents, rescored by neural Model 1 and fused by ranks; a
warm page cache. The peers have no hybrid ranker of their own, so they get the nearest thing: their
encoder for the query, bm25s for the terms, numpy for the inner products with vectors that are
mapped, and the same fusion.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dense.repbert_quality import COLLECTION, qa_mix_bundle
from benchmarks.harness.contest import peer_python
from benchmarks.harness.place import Place
from benchmarks.harness.processes import ONE_THREAD, fresh
from benchmarks.harness.report import goal, table
from benchmarks.speed.encoding_speed import THEIRS
from ranklet.training.data.splits import read_split

PACKAGES = ("onnxruntime", "tokenizers", "bm25s")
ROUNDS = 7
STAGES = ("interpreter", "import", "open index", "open encoder", "first query")
MOST = 900.0  # ms: issued for a serverless function on 2 cores

OURS = """
from ranklet import runtime
lap("import")
bundle = runtime.load(path, device="cpu")
lap("open index")
if model:
    bundle.rank("warm", ["up"], pipeline=[{"stage": "retrieve", "ranker": "dense", "k": 1}])
    lap("open encoder")
hits = bundle.rank(text, k=10, pipeline=pipeline)
lap("first query")
answer["hits"], answer["torch"] = len(hits), "torch" in sys.modules
answer["stages"] = [list(each) for each in hits.timings]
"""
SEARCH = """
def search(vector, text):
    lexical = index.retrieve(bm25s.tokenize([text], show_progress=False), k=1000,
                             show_progress=False)[0][0]
    dense = np.argsort(-(vectors @ vector))[:200]
    fused = {}
    for ranked in (lexical, dense):
        for place, number in enumerate(ranked.tolist(), 1):
            fused[number] = fused.get(number, 0) + 1 / (60 + place)
    best = sorted(fused, key=fused.get, reverse=True)[:10]
    return [corpus[number] for number in best]
"""
OPEN = """
index = bm25s.BM25.load(bm25, mmap=True)
vectors = np.load(matrix, mmap_mode="r")
import json
with open(texts) as opened:
    corpus = json.load(opened)
lap("open index")
"""
FASTEMBED = (
    """
import numpy as np
sys.modules["numba"] = None
import bm25s
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
lap("import")
"""
    + OPEN
    + """
TextEmbedding.add_custom_model(
    model="local/minilm", pooling=PoolingType.MEAN, normalization=True,
    sources=ModelSource(hf="local/minilm"), dim=384, model_file="onnx/model.onnx")
encoder = TextEmbedding("local/minilm", specific_model_path=theirs, threads=1)
lap("open encoder")
"""
    + SEARCH
    + """
hits = search(next(iter(encoder.embed([text]))), text)
lap("first query")
answer["hits"] = len(hits)
"""
)
SENTENCE_TRANSFORMERS = (
    """
import numpy as np
sys.modules["numba"] = None
import bm25s
from sentence_transformers import SentenceTransformer
lap("import")
"""
    + OPEN
    + """
encoder = SentenceTransformer(theirs, backend="onnx",
    model_kwargs={"provider": "CPUExecutionProvider", "file_name": small})
lap("open encoder")
"""
    + SEARCH
    + """
hits = search(encoder.encode(text), text)
lap("first query")
answer["hits"] = len(hits)
"""
)


def run(place: Place) -> str:
    """Start every process in turn, some rounds."""
    path = qa_mix_bundle(place)
    theirs = place.work / THEIRS
    python = str(peer_python(place))
    small = next(each.name for each in (theirs / "onnx").iterdir() if "int8" in each.name)
    text = read_split(place.collection(COLLECTION), "dev", limit=1)[0].text
    ours = {"path": str(path), "text": text, "model": True, "pipeline": "rrf"}
    peer = {"text": text, "theirs": str(theirs), **_peer_index(place, path)}
    contenders: dict[str, tuple[str, dict[str, Any], str]] = {
        "ranklet, int8": (OURS, ours, ""),
        "ranklet, BM25 alone": (OURS, {**ours, "model": False, "pipeline": "bm25"}, ""),
        "FastEmbed, fp32, and bm25s": (FASTEMBED, peer, python),
        "sentence-transformers, ONNX int8, and bm25s": (
            SENTENCE_TRANSFORMERS, {**peer, "small": f"onnx/{small}"}, python
        ),
    }  # fmt: skip
    laps: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    memory: dict[str, list[int]] = {name: [] for name in contenders}
    quiet = {**ONE_THREAD, "HF_HUB_OFFLINE": "1", "ORT_DISABLE_TELEMETRY": "1"}
    for turn in range(-1, ROUNDS):  # the first fills the page cache and is not counted
        for name, (snippet, values, interpreter) in contenders.items():
            options = {"python": interpreter} if interpreter else {}
            found = fresh(snippet, values, environment=quiet, **options)
            if found["hits"] != 10 or found.get("torch"):
                raise ValueError(f"{name}: {found}")
            if turn >= 0:
                laps[name].append(found["laps"])
                memory[name].append(found["VmHWM"])
    rows = [
        [
            name,
            *(f"{_median(each, (stage,)):.0f}" if stage in each[0] else "" for stage in STAGES),
            f"**{_median(each, STAGES):.0f}**",
            f"{np.median(memory[name]) / 1e6:.0f}",
        ]
        for name, each in laps.items()
    ]
    whole = _median(laps["ranklet, int8"], STAGES)
    return f"""
{COLLECTION}, medians of {ROUNDS} fresh processes each, in turns, in ms from the start of the \
process; *memory* is the peak resident, in MB, mapped files included.

{table(["", *STAGES, "in all", "memory"], rows)}

{goal("process start to the first hybrid answer", whole, MOST)}
- Ours rescores BM25's 1,000 and RepBERT's 200 by neural Model 1 and reads ten hits; *open \
encoder* is its tokenizer, its model and one text to warm up. The peers' corpus is a JSON list, \
their vectors are ours.
"""


def _peer_index(place: Place, path: Path) -> dict[str, str]:
    """Return the paths of what the peers search: bm25s's index, the vectors, the texts."""
    import json

    import bm25s

    texts = [each.text for each in place.collection(COLLECTION).documents()]

    def build(folder: Path) -> None:
        folder.mkdir()
        index = bm25s.BM25()
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        index.save(str(folder / "bm25s"), show_progress=False)
        (folder / "texts.json").write_text(json.dumps(texts))

    folder = place.keep(f"{COLLECTION}.peers", build)
    return {
        "bm25": str(folder / "bm25s"),
        "texts": str(folder / "texts.json"),
        "matrix": str(path / "rankers/dense/vectors.npy"),
    }


def _median(laps: list[dict[str, float]], stages: tuple[str, ...]) -> float:
    return float(np.median([sum(each.get(stage, 0.0) for stage in stages) for each in laps]))
