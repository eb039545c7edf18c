"""What each paper's ranker costs per query and per document, with a BERT base of random weights.

Weights do not change how long a network takes, so none is downloaded. The rankers over words learn
for some steps, because their vocabularies and tables are of a collection.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.harness.evenly import drawn
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections import probes
from ranklet.corpus.collections.collection import Collection, Query, write_collection
from ranklet.corpus.collections.probes import Probes, draw_probes
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions, Tolerance
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.onnx.session import threads
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.training.checkpoint import Checkpoint

PACKAGES = ("onnxruntime", "torch", "transformers")
COLLECTION = "qa-mix"
QUERY_TOKENS, TOKENS = 32, 160  # of a query, and of a document, or of both in a pair
FEW, MANY = 100, 1000  # candidates
THREADS = (1, 2)


class Size(NamedTuple):
    """How much is measured.

    Attributes:
        documents: of the collection; candidates beyond these are the same ones again.
        queries: that time each ranker, of which a network over pairs gets the first `slow`.
        steps: of what learns.
        learned: queries that it learns from.
    """

    documents: int = 80
    queries: int = 20
    slow: int = 2
    steps: int = 4
    learned: int = 50


class Paper(NamedTuple):
    """A ranker: its name in the table, and whether it scores by a network per pair."""

    title: str
    per_pair: bool = False


RANKERS = {
    "bm25": Paper("BM25"),
    "table": Paper("neural Model 1, its table"),
    "ndrm3": Paper("NDRM3, its impacts"),
    "epic": Paper("EPIC, r = 1000"),
    "repbert": Paper("RepBERT"),
    "colbert": Paper("ColBERT, 128 × int8 per token"),
    "tk": Paper("TK, 2 blocks of 256", per_pair=True),
    "vanilla": Paper("BERT, vanilla", per_pair=True),
}


class Unproven(ExportOptions):
    """Networks of random weights rank nothing, so their 8 bits are not compared with 32."""

    def tolerance(self, variant: str) -> Tolerance:  # noqa: ARG002
        """Return limits that everything is within."""
        return Tolerance(max_ndcg_loss=1.0, min_overlap=0.0, max_error=1e9, max_batch_error=1e9)


def run(place: Place) -> str:
    """Build the bundle, time it with one thread and with two, each in a process of its own."""
    size = Size()
    bundle = place.keep(
        "efficiency.ranklet", lambda path: build(place, path, size), given=str(size)
    )
    found = {threads: _measured(bundle, threads, size) for threads in THREADS}
    return section(found, costs(bundle), size)


def section(
    found: Mapping[int, Mapping[str, Any]], bytes_of: Mapping[str, float], size: Size
) -> str:
    """Return the tables of times and of sizes."""
    one = found[THREADS[0]]
    rows = []
    for name, paper in RANKERS.items():
        times = [
            found[threads][name].get(str(depth)) for depth in (FEW, MANY) for threads in THREADS
        ]
        ratio = np.median(one[name][str(FEW)]) / np.median(one["vanilla"][str(FEW)])
        rows.append(
            [
                paper.title,
                *(_shown(each) for each in times),
                f"{1 / ratio:,.0f}",
                _bytes(bytes_of[name]),
            ]
        )
    head = ["", *(f"{depth:,} by {n}" for depth in (FEW, MANY) for n in THREADS), "× BERT", "bytes"]
    return f"""
{table(head, rows)}

- p50 / p99 in ms per query, from its text to the scores of 100 or 1,000 candidates, by one thread \
(a processor's time) and by two (a clock's, under the load below). p99 stands where \
{size.queries} queries were ranked; networks that read pairs ranked {size.slow}, and 1,000 \
candidates take ten times as long. *× BERT* is how many times as fast as vanilla BERT, for 100 by \
one thread.
- *Bytes* are stored per document for the ranker alone, with {size.documents} documents; arrays of \
one number per word count, too. TK and vanilla BERT read what the bundle stores anyway. The table \
of neural Model 1 has {bytes_of["table file"] / 1e6:.1f} MB in all.
- BERT base, 12 layers of 768, has random weights and 8 bits, and reads {TOKENS} tokens of a \
document or a pair, as TK does. {size.documents} documents of {COLLECTION} are candidates, so for \
1,000 each is one several times. The rankers over words learned {size.steps} steps (neural Model 1 \
twice that, so its table is denser than one that has learned).
"""


def build(place: Place, path: Path, size: Size, bert: Callable[[Path], Path] | None = None) -> None:
    """Write a bundle with all rankers over some documents."""
    whole, work = place.collection(COLLECTION), path.with_suffix(".parts")
    work.mkdir(parents=True, exist_ok=True)
    collection = _some(whole, work / "collection", size)
    own = draw_probes(list(collection.documents()), read_split(collection, "dev")).first(2, 6)
    folder = (bert or bert_base)(work / "bert")
    models = {
        "bm25": Checkpoint("bm25", BM25Settings("lemmas")),
        **_over_words(collection, size),
        **_of_bert(folder, own),
    }
    with _few_probes():
        options = Unproven(variants=("int8",))
        wanted = {name: each for name, each in models.items() if name in RANKERS}
        exported = export_bundle(wanted, work / "rankers", options, overwrite=True)
    index_bundle(exported, collection, path)


def bert_base(folder: Path, **sizes: Any) -> Path:
    """Write a BERT base with random weights, a classifier of one label, and BERT's word pieces."""
    import shutil

    from transformers import BertConfig, BertForSequenceClassification

    from ranklet.training.learning.device import seeded
    from ranklet.training.pretrained.backbone import wheel_folder

    made: Any = BertConfig
    config = made(num_labels=1, **sizes)
    with seeded(0):
        model = BertForSequenceClassification(config)
    model.save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (wheel_folder() / file).is_file():
            shutil.copy(wheel_folder() / file, folder)
    return folder


def _some(whole: Collection, folder: Path, size: Size) -> Collection:
    """Write some documents, and the queries that they answer."""
    limits = {"train": size.learned, "dev": size.queries}
    asked = {split: read_split(whole, split, limit=most) for split, most in limits.items()}
    needed = {name for each in asked.values() for query in each for name in query.relevant}
    documents = drawn(list(whole.documents()), needed, size.documents)
    splits = {
        split: (
            [Query(each.id, each.text) for each in queries],
            {each.id: dict.fromkeys(each.relevant, 1) for each in queries},
        )
        for split, queries in asked.items()
    }
    return write_collection(folder, documents, splits, overwrite=True)


def _over_words(collection: Collection, size: Size) -> dict[str, Checkpoint]:
    """Return what learns over words, for some steps."""
    from ranklet.runtime.rankers.tk import TKSettings
    from ranklet.training.train import load_options, train

    queries, dev = read_split(collection, "train"), read_split(collection, "dev", limit=10)
    found = {}
    for name, kind, own in (
        ("table", "neural_model1", {"steps": 2 * size.steps}),
        ("ndrm3", "conformer_kernel", {}),
        ("tk", "tk", {"settings": TKSettings(max_document_terms=TOKENS)}),
    ):
        common = {"steps": size.steps, "evaluations": 1, "device": "cpu"}
        options: Any = load_options(kind)(**{**common, **own})
        found[name] = train(kind, collection, queries, dev, options)
    return found


def _of_bert(folder: Path, own: Probes) -> dict[str, Checkpoint]:
    """Return what has a BERT, all with the same one."""
    from ranklet.corpus.indexing.wordpieces import special_tokens
    from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
    from ranklet.runtime.rankers.epic import EPICSettings
    from ranklet.training.imported.chain import MODULES, STATES
    from ranklet.training.imported.importing import read_model
    from ranklet.training.learning.device import seeded
    from ranklet.training.learning.weights import take_weights
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.rankers.colbert.network import ColBERTNetwork
    from ranklet.training.rankers.colbert.training import DENSE
    from ranklet.training.rankers.epic.network import EPIC, EPICHead

    backbone = load_backbone(folder)
    hidden, words = backbone.config.hidden_size, backbone.config.vocab_size
    vanilla, dense = read_model(folder, kind="cross_encoder"), read_model(folder, kind="dense")
    dense_settings = replace(
        dense.settings, max_query_tokens=QUERY_TOKENS, max_document_tokens=TOKENS, similarity="dot"
    )
    pair_settings = replace(vanilla.settings, max_query_tokens=QUERY_TOKENS, max_tokens=TOKENS)
    layer = {
        "type": DENSE, "in_features": hidden, "out_features": 128, "bias": False,
        "activation_function": "torch.nn.Identity", "module_input_name": STATES,
    }  # fmt: skip
    late = ColBERTSettings(QUERY_TOKENS, TOKENS, 128)
    with seeded(1):
        colbert = ColBERTNetwork(backbone.model, late, [layer])
        epic = EPIC(backbone.model, EPICHead(hidden, words, special_tokens(backbone.tokenizer)))
    shared: dict[str, Any] = {"tokenizer": backbone.tokenizer, "probes": own}
    config = backbone.config_json()
    return {
        "vanilla": replace(vanilla, settings=pair_settings, probes=own),
        "repbert": replace(dense, settings=dense_settings, probes=own),
        "colbert": Checkpoint(
            "colbert", late, network={**config, MODULES: [layer]}, weights=take_weights(colbert),
            **shared,
        ),
        "epic": Checkpoint(
            "epic", EPICSettings(QUERY_TOKENS, TOKENS, words), network=config,
            weights=take_weights(epic), **shared,
        ),
    }  # fmt: skip


@contextmanager
def _few_probes() -> Any:
    with patch.multiple(probes, LEAST_QUERIES=2, LEAST_DOCUMENTS=6):
        yield


def costs(bundle: Path) -> dict[str, float]:
    """Return the bytes per document of each ranker, and of neural Model 1's table in all."""
    files = load(bundle).manifest.files
    before = load(bundle.with_suffix(".parts") / "rankers").manifest.files
    documents = len(load(bundle).documents or ())
    found: dict[str, float] = {}
    for name in RANKERS:
        own = [each for each in files if each.startswith(f"rankers/{name}/") and each not in before]
        found[name] = sum(files[each].bytes for each in own) / documents
    found["table file"] = sum(
        each.bytes for name, each in before.items() if name.startswith("rankers/table/")
    )
    return found


def times(path: Path, size: Size) -> dict[str, dict[str, list[float]]]:
    """Return ms of each query by ranker and number of candidates.

    By one thread it is a processor's time, which leaves out what others take, by two a clock's.
    """
    clock = process_time if threads() == 1 else perf_counter
    bundle = BundleFiles(path, device="cpu")
    documents = bundle.need_documents()
    queries = _queries(path, size.queries)
    found: dict[str, dict[str, list[float]]] = {}
    for name, paper in RANKERS.items():
        ranker, found[name] = open_ranker(bundle, name), {}
        for depth in (FEW,) if paper.per_pair else (FEW, MANY):
            numbers = np.resize(np.arange(len(documents), dtype=np.uint32), depth)
            asked = queries[: size.slow] if paper.per_pair else queries

            def score(text: str, ranker: Any = ranker, numbers: Any = numbers) -> float:
                begin = clock()
                query = QueryContext(text, bundle.analyzer.begin())
                ranker.score(query, StoredCandidates(documents, numbers))
                return (clock() - begin) * 1e3

            score(asked[0], numbers=numbers[:2])  # opens what is opened once
            found[name][str(depth)] = [score(text) for text in asked]
    return found


def _queries(path: Path, most: int) -> list[str]:
    collection = Collection(path.with_suffix(".parts") / "collection")
    return [each.text for each in read_split(collection, "dev", limit=most)]


def _measured(bundle: Path, threads: int, size: Size) -> Any:
    """Return `times` of a process with so many threads."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.papers.paper_efficiency",
        str(bundle),
        str(size.queries),
        str(size.slow),
    ]
    variables = {"RANKLET_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def _shown(ms: list[float] | None) -> str:
    if ms is None:
        return "–"
    p50 = f"{np.median(ms):,.2f}" if np.median(ms) < 100 else f"{np.median(ms):,.0f}"
    if len(ms) < 20:
        return p50
    return f"{p50} / {np.percentile(ms, 99):,.2f}"


def _bytes(count: float) -> str:
    return f"{count:,.0f}" if count else "0"


if __name__ == "__main__":
    path, queries, slow = sys.argv[1:]
    print(json.dumps(times(Path(path), Size(queries=int(queries), slow=int(slow)))))
