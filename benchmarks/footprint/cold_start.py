"""From the start of a process to the first answer, stage by stage: ours and peers.

What a serverless function pays when it wakes, with a warm page cache. google-wiki without a
network, qa-mix with and without one. Peers have no hybrid ranker of their own, so they get the
nearest thing: their encoder, bm25s, numpy over mapped vectors, and the same fusion.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.built import bundles
from benchmarks.built.peers import asked, bm25s_folder, opened, tantivy_folder
from benchmarks.built.trained import QA_MIX
from benchmarks.harness.contest import peer_python
from benchmarks.harness.place import Place
from benchmarks.harness.processes import ONE_THREAD, fresh
from benchmarks.harness.report import goal, table
from benchmarks.speed.encoding_speed import THEIRS
from ranklet.corpus.collections.splits import read_split

PACKAGES = ("bm25s", "tantivy", "onnxruntime", "tokenizers")
ROUNDS = 11
MOST_IMPORT, MOST_LEXICAL, MOST_HYBRID, MOST_LAMBDA = 20.0, 120.0, 280.0, 130.0  # ms
LOADED = ("onnxruntime", "tokenizers")
NEVER = ("torch", "transformers", "scipy", "onnx")
STAGES = ("interpreter", "import numpy", "import", "open", "open encoder", "first query")
QUIET = {
    **ONE_THREAD, "RANKLET_THREADS": "1", "HF_HUB_OFFLINE": "1", "ORT_DISABLE_TELEMETRY": "1",
}  # fmt: skip
LEXICAL, HYBRID = "ranklet, BM25, folder", "ranklet, BM25 and dense int8, neural Model 1"
LAMBDA = "ranklet, BM25, function of AWS Lambda"

NUMPY = """
import numpy
lap("import numpy")
"""
OURS = f"""{NUMPY}
from ranklet.runtime import load
lap("import")
bundle = load(path, device="cpu")
lap("open")
hits = bundle.rank(text, k=10, pipeline=pipeline)
lap("first query")
answer["modules"], answer["hits"] = sorted(sys.modules), len(hits)
"""
# Lambda reads the handler in its init phase, in which it runs a query of its own, too.
FUNCTION = f"""{NUMPY}
import os
os.environ["RANKLET_BUNDLE"] = path
import ranklet.handlers.aws_lambda as function
lap("import")
function.handler
lap("open")
hits = function.handler({{"query": text}}, None)["hits"]
lap("first query")
answer["modules"], answer["hits"] = sorted(sys.modules), len(hits)
"""
# Without numba: it is optional for bm25s, which imports it where it is found, for 0.3 s or more.
BM25S = f"""{NUMPY}
sys.modules["numba"] = None
import bm25s
lap("import")
index = bm25s.BM25.load(path, mmap=mmap)
lap("open")
found = index.retrieve([lemmas], k=10, show_progress=False, n_threads=0)
lap("first query")
answer["hits"] = len(found.documents[0])
"""
TANTIVY = """
from tantivy import Index, Occur, Query
lap("import")
index = Index.open(path)
searcher = index.searcher()
lap("open")
terms = [(Occur.Should, Query.term_query(index.schema, "body", each, "freq")) for each in lemmas]
hits = searcher.search(Query.boolean_query(terms), 10, count=False).hits
numbers = searcher.fast_field_values("number", [address for _, address in hits])
lap("first query")
answer["hits"] = len(numbers)
"""
PEER = """
import numpy as np
lap("import numpy")
import json
sys.modules["numba"] = None
import bm25s
{imports}
lap("import")
index = bm25s.BM25.load(bm25, mmap=True)
vectors = np.load(matrix, mmap_mode="r")
with open(texts) as opened:
    corpus = json.load(opened)
lap("open")
{encoder}
lap("open encoder")
tokens = bm25s.tokenize([text], show_progress=False)
lexical = index.retrieve(tokens, k=1000, show_progress=False)[0][0]
dense = np.argsort(-(vectors @ {vector}))[:200]
fused = {{}}
for ranked in (lexical, dense):
    for place, number in enumerate(ranked.tolist(), 1):
        fused[number] = fused.get(number, 0) + 1 / (60 + place)
hits = [corpus[number] for number in sorted(fused, key=fused.get, reverse=True)[:10]]
lap("first query")
answer["hits"] = len(hits)
"""
FASTEMBED = PEER.format(
    imports="""
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
""",
    encoder="""
TextEmbedding.add_custom_model(
    model="local/minilm", pooling=PoolingType.MEAN, normalization=True,
    sources=ModelSource(hf="local/minilm"), dim=384, model_file="onnx/model.onnx")
encoder = TextEmbedding("local/minilm", specific_model_path=theirs, threads=1)
""",
    vector="next(iter(encoder.embed([text])))",
)
SENTENCE_TRANSFORMERS = PEER.format(
    imports="from sentence_transformers import SentenceTransformer",
    encoder="""
encoder = SentenceTransformer(theirs, backend="onnx",
    model_kwargs={"provider": "CPUExecutionProvider", "file_name": small})
""",
    vector="encoder.encode(text)",
)


class Contender(NamedTuple):
    """A process: its code, the code's variables, and the interpreter, ours if it is empty."""

    snippet: str
    values: Mapping[str, Any]
    python: str = ""


def run(place: Place) -> str:
    """Start every process in turn, some rounds."""
    return processes(contenders(place))


def contenders(place: Place) -> dict[str, Contender]:
    """Return the processes by name: ours and peers' without a network, then those of qa-mix."""
    text, lemmas = asked(place, opened(bundles.google_wiki(place)))[0]
    peer = {"path": str(bm25s_folder(place)), "lemmas": lemmas}
    found = {
        LEXICAL: _ours(bundles.google_wiki(place), text),
        "ranklet, BM25, zip": _ours(bundles.google_wiki_zip(place), text),
        LAMBDA: Contender(FUNCTION, {"path": str(bundles.google_wiki(place)), "text": text}),
        "bm25s, mmap": Contender(BM25S, {**peer, "mmap": True}),
        "bm25s": Contender(BM25S, {**peer, "mmap": False}),
        "tantivy": Contender(TANTIVY, {"path": str(tantivy_folder(place)), "lemmas": lemmas}),
    }
    question = read_split(place.collection(QA_MIX), "dev", limit=1)[0].text
    first: dict[str, Any] = {"stage": "retrieve", "ranker": "bm25", "k": 100}
    second = {"stage": "retrieve", "ranker": "dense", "k": 100}
    fuse = {"stage": "fuse", "method": "rrf", "inputs": ["bm25", "dense"], "weights": [1.0, 1.0]}
    hybrid = bundles.qa_mix_hybrid(place)
    given = {"text": question, "theirs": str(place.work / THEIRS), **_peer_index(place, hybrid)}
    small = next(
        each.name for each in (place.work / THEIRS / "onnx").iterdir() if "int8" in each.name
    )
    python = str(peer_python(place))
    return found | {
        "ranklet, BM25 and dense int8": _ours(hybrid, question, [first, second, fuse]),
        HYBRID: _ours(hybrid, question, "rrf"),
        "FastEmbed, fp32, and bm25s": Contender(FASTEMBED, given, python),
        "sentence-transformers, ONNX int8, and bm25s": Contender(
            SENTENCE_TRANSFORMERS, {**given, "small": f"onnx/{small}"}, python
        ),
    }


def processes(started: Mapping[str, Contender], rounds: int = ROUNDS) -> str:
    """Return a table of processes that start in turn.

    Raises:
        ValueError: a process has found fewer than ten hits, or has loaded what it never needs.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in started}
    for turn in range(-1, rounds):  # the first fills the page cache and is not counted
        for name, each in started.items():
            options = {"python": each.python} if each.python else {}
            got = fresh(each.snippet, each.values, environment=QUIET, **options)
            unwanted = [module for module in NEVER if module in got.get("modules", ())]
            if got["hits"] != 10 or unwanted:
                raise ValueError(f"{name} found {got['hits']} of 10 hits, loaded {unwanted}")
            if turn >= 0:
                found[name].append(got)
    whole = {name: median(each, STAGES) for name, each in found.items()}
    imported = {name: median(each, ("import",)) for name, each in found.items()}
    rows = [
        [
            name,
            *(f"{median(each, (s,)):.0f}" if s in each[0]["laps"] else "" for s in STAGES),
            f"**{whole[name]:.0f}**",
            f"{np.median([got['VmHWM'] for got in each]) / 1e6:.0f}",
            ", ".join(module for module in LOADED if module in each[0].get("modules", ())),
        ]
        for name, each in found.items()
    ]
    goals = [
        goal(what, ms[name], most)
        for what, name, ms, most in (
            ("import of the runtime beyond numpy", LEXICAL, imported, MOST_IMPORT),
            (f"in all, {LEXICAL}", LEXICAL, whole, MOST_LEXICAL),
            (f"in all, {HYBRID}", HYBRID, whole, MOST_HYBRID),
            (f"in all, {LAMBDA}", LAMBDA, whole, MOST_LAMBDA),
        )
        if name in ms
    ]
    return f"""
Medians of {rounds} fresh processes each, in turns, in ms. *Memory* is the peak resident in MB, \
mapped files included. The rows down to tantivy's rank google-wiki, the others qa-mix.

{table(["", *STAGES, "in all", "memory", "loaded"], rows)}

{chr(10).join(goals)}
- Ours begins with text, and ends with ids, titles and texts of 10 hits; the first query that \
needs an encoder opens it. bm25s and tantivy are handed finished lemmas, and \
end with document numbers. The other peers' corpus is a JSON list, and their vectors are ours.
- None of {", ".join(NEVER)} is ever loaded: checked in `sys.modules` of each of our processes.
"""


def median(found: list[dict[str, Any]], stages: tuple[str, ...]) -> float:
    """Return the median over processes of the ms of some stages together.

    >>> median([{"laps": {"open": 1.0}}, {"laps": {"open": 3.0, "import": 2.0}}], STAGES)
    3.0
    """
    return float(np.median([sum(each["laps"].get(s, 0.0) for s in stages) for each in found]))


def _ours(path: Path, text: str, pipeline: Any = None) -> Contender:
    return Contender(OURS, {"path": str(path), "text": text, "pipeline": pipeline})


def _peer_index(place: Place, path: Path) -> dict[str, str]:
    """Return the paths of what the peers search: bm25s's index, the vectors, the texts."""
    texts = [each.text for each in place.collection(QA_MIX).documents()]

    def build(folder: Path) -> None:
        import bm25s

        folder.mkdir()
        index = bm25s.BM25()
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
        index.save(str(folder / "bm25s"), show_progress=False)
        (folder / "texts.json").write_text(json.dumps(texts))

    folder = place.keep(f"{QA_MIX}.peers", build)
    return {
        "bm25": str(folder / "bm25s"),
        "texts": str(folder / "texts.json"),
        "matrix": str(path / "rankers/dense/vectors.npy"),
    }
