"""What a million queries cost in a function and in a container, ours and peers packed alike.

The price is calculated from measured processor time and memory by the formula that the platforms
publish. `RANKLET_PRICES` replaces prices, as a JSON object of the fields of `Prices`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.built.bundles import qa_mix_cross
from benchmarks.footprint.cold_start import QUIET
from benchmarks.fusion.collections import COMPARED, bundle_of, documents_of
from benchmarks.harness.contest import peer_python
from benchmarks.harness.place import Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import table
from ranklet.corpus.collections.splits import read_split
from ranklet.export.build import build
from ranklet.training.pretrained.backbone import load_backbone, wheel_folder

PACKAGES = ("bm25s", "onnxruntime", "tokenizers")
PRICES_VARIABLE = "RANKLET_PRICES"
QA_MIX = next(each for each in COMPARED if each.name == "qa-mix")
SIZES = (128, 256, 512, 1024, 1769, 3072)  # MB of a function
WHOLE = 1769  # MB for which Lambda gives one processor; less memory is a share of one
REST = 30e6  # bytes of a function's runtime client and log, beside what is measured
WARM, QUERIES, ROUNDS = 20, 200, 3
FEW = 10  # queries of a cross-encoder
DEPTHS = {"first": 1000, "dense": 200}  # documents that are fused


@dataclass(frozen=True)
class Prices:
    """Prices in US dollars, as Amazon and Google list them for their cheapest regions, x86.

    Attributes:
        lambda_gb_second: of a function's memory and time, which is billed per millisecond.
        lambda_million: of a million calls.
        run_processor_second: of a container's processor.
        run_gib_second: of its memory.
        run_million: of a million calls.
    """

    lambda_gb_second: float = 0.0000166667
    lambda_million: float = 0.20
    run_processor_second: float = 0.000024
    run_gib_second: float = 0.0000025
    run_million: float = 0.40


class Measured(NamedTuple):
    """A system: milliseconds of one processor per query, and bytes of memory at their peak."""

    ms: float
    peak: float


# Each snippet defines `ask`, which takes a query and returns its hits.
_LOOP = """
for each in texts[:warm]:
    hits = ask(each)
began = time.process_time()
for each in texts[warm:]:
    hits = ask(each)
answer["ms"] = (time.process_time() - began) * 1e3 / (len(texts) - warm)
answer["hits"] = len(hits)
"""
OURS = """
from ranklet import runtime
bundle = runtime.load(path, device="cpu")
def ask(text):
    return bundle.rank(text, k=10, pipeline=pipeline)
"""
WORDS = """
import json
import bm25s
import Stemmer
stemmer = Stemmer.Stemmer("english")
index = bm25s.BM25.load(folder, mmap=True)
with open(folder + "/texts.json") as opened:
    corpus = json.load(opened)
def first(text, k):
    tokens = bm25s.tokenize([text], stopwords="en", stemmer=stemmer, show_progress=False)
    return index.retrieve(tokens, k=k, show_progress=False, n_threads=0)[0][0].tolist()
"""
BM25S = f"""{WORDS}
def ask(text):
    return [corpus[number] for number in first(text, 10)]
"""
FUSED = """
import numpy as np
vectors = np.load(matrix, mmap_mode="r")
def ask(text):
    fused = {}
    dense = np.argsort(-(vectors @ vector(text)))[:depth_dense].tolist()
    for ranked in (first(text, depth_first), dense):
        for place, number in enumerate(ranked, 1):
            fused[number] = fused.get(number, 0) + 1 / (60 + place)
    return [corpus[number] for number in sorted(fused, key=fused.get, reverse=True)[:10]]
"""
FASTEMBED = f"""{WORDS}
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
TextEmbedding.add_custom_model(
    model="local/minilm", pooling=PoolingType.MEAN, normalization=True,
    sources=ModelSource(hf="local/minilm"), dim=384, model_file="onnx/model.onnx")
encoder = TextEmbedding("local/minilm", specific_model_path=theirs, threads=1)
def vector(text):
    return next(iter(encoder.embed([text])))
{FUSED}"""
SENTENCE_TRANSFORMERS = f"""{WORDS}
from sentence_transformers import SentenceTransformer
encoder = SentenceTransformer(theirs, backend="onnx",
    model_kwargs={{"provider": "CPUExecutionProvider", "file_name": small}})
def vector(text):
    return encoder.encode(text)
{FUSED}"""
# Runs once in the environment of the peers: the index, and the encoder in both of their forms.
PREPARE = """
import json, os
import bm25s
import Stemmer
with open(texts) as opened:
    corpus = json.load(opened)
stemmer = Stemmer.Stemmer("english")
index = bm25s.BM25()
index.index(bm25s.tokenize(corpus, stopwords="en", stemmer=stemmer, show_progress=False),
            show_progress=False)
index.save(folder, show_progress=False)
os.replace(texts, folder + "/texts.json")
from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model
encoder = SentenceTransformer(model, backend="onnx",
    model_kwargs={"provider": "CPUExecutionProvider", "export": True})
encoder.save_pretrained(folder + "/minilm")
export_dynamic_quantized_onnx_model(encoder, "avx512_vnni", folder + "/minilm")
"""


def run(place: Place) -> str:
    """Measure every system in processes of its own, and calculate."""
    prices = read_prices(os.environ.get(PRICES_VARIABLE, "{}"))
    found = {name: measured(*each) for name, each in systems(place).items()}
    rows = [
        [name, f"{each.ms:.2f}", f"{each.peak / 1e6:.0f}",
         *(_dollars(lambda_million(each, size, prices)) for size in SIZES),
         _dollars(run_million(each, prices))]
        for name, each in found.items()
    ]  # fmt: skip
    head = ["", "ms", "MB", *(f"Lambda, {size:,} MB" for size in SIZES), "Cloud Run"]
    documents = sum(1 for _ in documents_of(place, QA_MIX))
    return f"""
{documents:,} documents of qa-mix, {QUERIES} of its dev queries, ten hits with their texts. *ms*: \
processor time per query, one thread, medians of {ROUNDS} fresh processes. *MB*: peak resident \
memory, mapped files included. The others are **US dollars per million queries**:

{table(head, rows)}

- A function has {WHOLE:,} MB per processor, so with less memory a query takes longer, and with \
more it is no faster on one thread. Time is rounded up to a millisecond. "–": it does not fit \
beside {REST / 1e6:.0f} MB for the runtime client.
- A container with one processor and as many GiB as it needs is busy all the time here. Idle time \
costs as much.
- Starts, HTTP and JSON are not in it. They cost all systems alike.
- The encoder is MiniLM-L6, ours and sentence-transformers' in 8 bits. The peers' vectors are \
ours, fused with bm25s by reciprocal ranks.
- Prices: {", ".join(f"{name} {value:g}" for name, value in asdict(prices).items())}.
"""


def systems(place: Place) -> dict[str, tuple[str, Mapping[str, Any], str, int]]:
    """Return by name a snippet, its variables, its interpreter (ours if empty), and queries."""
    judged = read_split(place.collection(QA_MIX.name), "dev", limit=WARM + QUERIES)
    texts, bundle = [each.text for each in judged], bundle_of(place, QA_MIX, wheel_folder())
    peers, python = _prepared(place), str(peer_python(place))
    place_of = {"path": str(bundle.path), "texts": texts}
    theirs = {
        "folder": str(peers), "theirs": str(peers / "minilm"), "texts": texts,
        "matrix": str(Path(bundle) / f"rankers/{QA_MIX.model}/vectors.npy"),
        **{f"depth_{name}": depth for name, depth in DEPTHS.items()},
        "small": next(f"onnx/{each.name}" for each in (peers / "minilm/onnx").glob("*int8*")),
    }  # fmt: skip
    lexical = [{"stage": "retrieve", "ranker": "bm25", "k": 10}]
    last = [{**lexical[0], "k": 20}, {"stage": "rescore", "ranker": "cross_encoder"}]
    few, static = texts[: FEW + 2], {"path": str(_static(place)), "texts": texts}
    return {
        "ranklet, words": (OURS, {**place_of, "pipeline": lexical}, "", WARM),
        "ranklet, words and static vectors": (OURS, {**static, "pipeline": None}, "", WARM),
        "ranklet, words and MiniLM": (OURS, {**place_of, "pipeline": None}, "", WARM),
        "ranklet, a cross-encoder reads 20": (
            OURS, {"path": str(qa_mix_cross(place)), "texts": few, "pipeline": last}, "", 2,
        ),
        "bm25s": (BM25S, theirs, python, WARM),
        "FastEmbed and bm25s": (FASTEMBED, theirs, python, WARM),
        "sentence-transformers, ONNX, and bm25s": (SENTENCE_TRANSFORMERS, theirs, python, WARM),
    }  # fmt: skip


def measured(snippet: str, values: Mapping[str, Any], python: str, warm: int) -> Measured:
    """Run a system in fresh processes.

    Raises:
        ValueError: it has not found ten hits.
    """
    options = {"python": python} if python else {}
    found = [
        fresh(snippet + _LOOP, {**values, "warm": warm}, environment=QUIET, **options)
        for _ in range(ROUNDS)
    ]
    if any(each["hits"] != 10 for each in found):
        raise ValueError(f"{found[0]['hits']} of 10 hits were found")
    return Measured(*(float(np.median([each[name] for each in found])) for name in ("ms", "VmHWM")))


def lambda_million(system: Measured, megabytes: int, prices: Prices) -> float | None:
    """Return the dollars of a million queries in a function; None if it does not fit.

    >>> lambda_million(Measured(10.0, 100e6), 1769, Prices(0.00001, 0.2))
    0.377
    >>> lambda_million(Measured(10.0, 2e9), 1769, Prices())
    """
    if system.peak + REST > megabytes * 1e6:
        return None
    ms = ceil(system.ms * max(1.0, WHOLE / megabytes))
    return round(ms * 1e3 * megabytes / 1000 * prices.lambda_gb_second + prices.lambda_million, 3)


def run_million(system: Measured, prices: Prices) -> float:
    """Return the dollars of a million queries in a container with one processor that is busy.

    >>> run_million(Measured(10.0, 100e6), Prices(run_processor_second=0.00002))
    0.625
    """
    gib = max(1, ceil((system.peak + REST) / 2**30))
    second = prices.run_processor_second + gib * prices.run_gib_second
    return round(system.ms * 1e3 * second + prices.run_million, 3)


def read_prices(text: str) -> Prices:
    """Return the prices of a JSON object, and the published ones for the rest.

    >>> read_prices('{"run_million": 0.3}').run_million
    0.3

    Raises:
        ValueError: it is no JSON object of numbers, or names another price.
    """
    given, known = json.loads(text), [each.name for each in fields(Prices)]
    wrong = not isinstance(given, dict) or not all(
        name in known and isinstance(value, int | float) for name, value in given.items()
    )
    if wrong:
        raise ValueError(
            f"{PRICES_VARIABLE} is {text!r}; it must be an object with some of {', '.join(known)}"
        )
    return Prices(**given)


def _dollars(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _prepared(place: Place) -> Path:
    """Return a folder with what the peers search and encode with."""

    def make(path: Path) -> None:
        path.mkdir()
        listed = place.work / "price.texts.json"
        passages = bundle_of(place, QA_MIX, wheel_folder()).files.need_documents()
        listed.write_text(json.dumps(passages.ranked_texts(range(len(passages)))))
        values = {"texts": str(listed), "folder": str(path), "model": str(wheel_folder())}
        fresh(PREPARE, values, python=str(peer_python(place)), environment=QUIET)

    return place.keep("price.peers", make)


def _static(place: Place) -> Path:
    """Return a bundle of words and static vectors: MiniLM's own for its word pieces."""

    def folder(path: Path) -> None:
        from safetensors.numpy import save_file

        backbone = load_backbone()
        path.mkdir()
        backbone.tokenizer.save(str(path / "tokenizer.json"))
        save_file({"embeddings": backbone.word_vectors()}, path / "model.safetensors")
        of_model2vec = {
            "model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True,
        }  # fmt: skip
        (path / "config.json").write_text(json.dumps(of_model2vec))

    def make(path: Path) -> None:
        records = (each._asdict() for each in documents_of(place, QA_MIX))
        build(records, path, models=[place.keep("price.static", folder)], overwrite=True)

    return place.keep("price.static.ranklet", make)
