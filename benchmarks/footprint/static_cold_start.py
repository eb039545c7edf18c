"""From a fresh process to the first answer without a network, next to BM25, dense and ColBERT.

qa-mix, a warm page cache. A light ranker whose queries are static needs numpy and a tokenizer to
rescore BM25's first 100; the others need onnxruntime. Encoding documents is compared, too.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.built.late_interaction import qa_mix_colbert_bundle
from benchmarks.built.peers import opened
from benchmarks.built.static_bundles import lcm_bundle, qa_mix_static_bundle
from benchmarks.harness.place import Place
from benchmarks.harness.processes import ONE_THREAD, fresh, one_thread
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder, TokenEncoder
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.splits import read_split

PACKAGES = ("onnxruntime", "tokenizers")
COLLECTION = "qa-mix"
ROUNDS, GATHERED = 11, 100
TEXTS, ENCODING_ROUNDS = 100, 3  # documents that are encoded, one at a time
LOADED = ("onnxruntime", "tokenizers")
NEVER = ("torch", "transformers")
STAGES = ("interpreter", "import", "open", "first query", "second query")
LEXICAL, STATIC = "BM25", "BM25, rescored by static light vectors"
DENSE, COLBERT = "BM25 and dense int8, reciprocal ranks", "BM25, rescored by ColBERT int8"

SNIPPET = """
from ranklet import runtime
lap("import")
bundle = runtime.load(path, device="cpu")
lap("open")
hits = bundle.rank(text, k=10, pipeline=pipeline)
lap("first query")
bundle.rank(other, k=10, pipeline=pipeline)
lap("second query")
answer["modules"], answer["hits"] = sorted(sys.modules), len(hits)
"""


def run(place: Place) -> str:
    """Start every process in turn, some rounds; then encode documents in turns."""
    static, colbert = str(qa_mix_static_bundle(place)), str(qa_mix_colbert_bundle(place))
    text, other = (query.text for query in read_split(place.collection(COLLECTION), "dev", limit=2))
    first = {"stage": "retrieve", "ranker": "bm25", "k": GATHERED}
    light, late = ({"stage": "rescore", "ranker": each} for each in ("light", "colbert"))
    dense = [
        first,
        {"stage": "retrieve", "ranker": "dense", "k": GATHERED},
        {"stage": "fuse", "method": "rrf", "inputs": ["bm25", "dense"], "weights": [1.0, 1.0]},
    ]
    contenders: dict[str, dict[str, Any]] = {
        LEXICAL: {"path": static, "pipeline": [first]},
        STATIC: {"path": static, "pipeline": [first, light]},
        DENSE: {"path": static, "pipeline": dense},
        COLBERT: {"path": colbert, "pipeline": [first, late]},
    }
    laps: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    memory: dict[str, list[int]] = {name: [] for name in contenders}
    loaded: dict[str, list[str]] = {}
    quiet = {**ONE_THREAD, "RANKLET_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
    for turn in range(-1, ROUNDS):  # the first fills the page cache and is not counted
        for name, values in contenders.items():
            given = {**values, "text": text, "other": other}
            found = fresh(SNIPPET, given, environment=quiet)
            if found["hits"] != 10 or set(NEVER) & set(found["modules"]):
                raise ValueError(f"{name}: {found['hits']} hits, {found['modules']}")
            loaded[name] = [each for each in LOADED if each in found["modules"]]
            if turn >= 0:
                laps[name].append(found["laps"])
                memory[name].append(found["VmHWM"])
    if "onnxruntime" in loaded[STATIC]:
        raise ValueError("static queries have loaded onnxruntime")
    rows = [
        [
            name,
            *(f"{median(each, (stage,)):.0f}" for stage in STAGES),
            f"**{to_answer(each):.0f}**",
            f"{np.median(memory[name]) / 1e6:.0f}",
            ", ".join(loaded[name]) or "–",
        ]
        for name, each in laps.items()
    ]
    base = to_answer(laps[LEXICAL])
    beyond = {name: to_answer(each) - base for name, each in laps.items()}
    return f"""
{COLLECTION}, medians of {ROUNDS} fresh processes each, in turns, one thread, in ms from the start \
of the process; *memory* is the peak resident, in MB, mapped files included; numpy is in *import*.

{table(["", *STAGES, "to the first answer", "memory", "loaded"], rows)}

- Beyond BM25 alone, static light vectors take {beyond[STATIC]:.0f} ms to the first answer, dense \
vectors {beyond[DENSE]:.0f} ms and ColBERT {beyond[COLBERT]:.0f} ms. An encoder is opened by the \
first query that needs it.

Encoding a document of qa-mix, at most 128 tokens, one at a time on one thread, ms:

{encoding(place)}
"""


def encoding(place: Place) -> str:
    """Return a table of the times that documents take, relative to the whole encoder."""
    documents = list(place.collection(COLLECTION).documents())
    step = max(1, len(documents) // TEXTS)
    texts = [ranked_text(each.title, each.text, True) for each in documents[::step]][:TEXTS]
    with one_thread():
        whole = "ColBERT int8: the whole encoder"
        encoders: dict[str, TokenEncoder] = {
            whole: ColBERTEncoder.open(opened(qa_mix_colbert_bundle(place)), "colbert"),
            "SRM-LCM, context of the oracle: encoder and modules, int8": LightEncoder.open(
                opened(lcm_bundle(place)), "light"
            ),
            "SRM-LCM, context of neighbours: numpy": LightEncoder.open(
                opened(qa_mix_static_bundle(place)), "light"
            ),
        }
        took = take_turns(
            {name: partial(encoded, each) for name, each in encoders.items()},
            texts,
            ENCODING_ROUNDS,
        )
    full = float(np.median(took[whole]))
    rows = [
        [name, f"{np.median(ms):.2f}", f"{np.median(ms) / full:.2f}"] for name, ms in took.items()
    ]
    return table(["", "p50", "÷ whole encoder"], rows)


def encoded(encoder: TokenEncoder, text: str) -> object:
    """Encode a document as it is stored."""
    return encoder.encode_documents([text])


def to_answer(laps: Sequence[Mapping[str, float]]) -> float:
    """Return the median ms from the start of the process to the first answer."""
    return median(laps, STAGES[:-1])


def median(laps: Sequence[Mapping[str, float]], stages: Sequence[str]) -> float:
    """Return the median over processes of the ms of some stages together.

    >>> median([{"open": 1.0, "import": 2.0}, {"open": 3.0}], ("open", "import"))
    3.0
    """
    return float(np.median([sum(each.get(stage, 0.0) for stage in stages) for each in laps]))
