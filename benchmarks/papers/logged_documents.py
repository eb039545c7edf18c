"""What a log of queries adds to documents that have one: to BM25, and to NDRM3.

Mitra et al. (§4) add the queries of ORCAS to the documents that people clicked on. Here every
reported and every learned query has a document that other queries of the log led to. Networks are
exported and indexed, so what is measured is what is served.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.built.trained import CONFORMER, HELD_OUT, LEARN, QA_MIX, TUNING_QUERIES, all_cores
from benchmarks.harness.place import Place
from benchmarks.papers.scored_lists import compared
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.pipeline import Pipeline, Rescore, Retrieve
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection, Query, write_collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.systems import evaluate
from ranklet.training.train import options_of_kind, train

PACKAGES = ("torch", "gensim", "onnx", "onnxruntime")
STEPS, DEPTH, KEPT, CANDIDATES = 1_000, 100, 1_000, 1_200
WITHOUT, WITH = "", " + log"
SPLITS = {"learn": LEARN, "tune": HELD_OUT, "report": "dev"}


def run(place: Place) -> str:
    """Train with and without the log, index, and compare."""
    whole = place.collection(QA_MIX)
    parts = {name: _one_of_each(read_split(whole, spec)) for name, spec in SPLITS.items()}
    apart = {query.id for queries in parts.values() for query in queries}
    log: dict[str, list[str]] = defaultdict(list)
    for query in [*read_split(whole, "train"), *read_split(whole, "dev")]:
        for name in query.relevant if query.id not in apart else ():
            log[name].append(query.text)
    parts = {
        name: [query for query in queries if all(log[each] for each in query.relevant)]
        for name, queries in parts.items()
    }
    values: dict[str, dict[str, Any]] = defaultdict(dict)
    for more in (WITHOUT, WITH):
        bundle = runtime.load(_bundle(place, whole, parts, log if more else {}))
        first = Retrieve("bm25", DEPTH)
        ways = {
            f"BM25{more}": Pipeline((first,)),
            f"NDRM3{more}, reranks": Pipeline((first, Rescore("ndrm3"))),
            f"NDRM3{more}, retrieves": Pipeline((Retrieve("ndrm3", DEPTH),)),
        }
        measures = ("MRR@10", "nDCG@10")
        for each in evaluate(bundle, parts["report"], ways, measures=measures, depth=DEPTH):
            for measure in measures:
                values[measure][each.pipeline] = each.values[measure]
    names = ("BM25{}", "NDRM3{}, reranks", "NDRM3{}, retrieves")
    pairs = [(each.format(WITH), each.format(WITHOUT)) for each in names]
    pairs += [
        (f"NDRM3{more}, retrieves", other)
        for more in (WITHOUT, WITH)
        for other in (f"NDRM3{more}, reranks", f"BM25{more}")
    ]
    pairs += [(f"NDRM3{more}, reranks", f"BM25{more}") for more in (WITHOUT, WITH)]
    tables = [compared(of, pairs, measure) for measure, of in values.items()]
    logged = sum(1 for found in log.values() if found)
    return f"""
{QA_MIX}, {len(bundle):,} passages, {logged:,} of which have {sum(map(len, log.values())):,} \
queries in the log. {len(parts["report"]):,} dev queries are reported. Networks learn \
{STEPS:,} steps from {len(parts["learn"]):,} queries, and k1 and b are tuned on \
{min(TUNING_QUERIES, len(parts["tune"])):,}. All of these queries have a document with others in \
the log. A bundle has {KEPT:,} impacts per document. *Reranks* reads BM25's first {DEPTH}, of \
documents with the log or without. One seed. Paired t-tests over queries with Holm's correction \
per table.

{chr(10).join(f"{each}{chr(10)}" for each in tables)}
"""


def _bundle(place: Place, whole: Collection, parts: Any, log: Any) -> Path:
    """Return the bundle of BM25 and NDRM3 of documents with the log, if one is given."""
    name = f"{QA_MIX}.{'log' if log else 'no-log'}"

    def write(path: Path) -> None:
        documents = (
            each._replace(text="\n".join([each.text, *log.get(each.id, ())]))
            for each in whole.documents()
        )
        write_collection(path, documents, {part: _split(asked) for part, asked in parts.items()})

    collection = Collection(place.keep(f"{name}.cut", write, (), "1"))
    bm25 = _trained(place, collection, f"{name}.bm25", "bm25", "learn")
    settings = ConformerKernelSettings(
        field=bm25.settings.field, architecture="ndrm3", scorer="onnx",
        terms=KEPT, candidates=CANDIDATES,
    )  # fmt: skip
    own = CONFORMER | {"steps": STEPS, "queries": None, "evaluate_every": 250}
    ndrm3 = _trained(
        place, collection, f"{name}.ndrm3", "conformer_kernel", "learn",
        settings=settings, bm25=bm25.settings, **own,
    )  # fmt: skip

    def build(path: Path) -> None:
        made = path.with_name(f"{path.name}.rankers")
        export_bundle({"bm25": bm25, "ndrm3": ndrm3}, made, None, overwrite=True)
        index_bundle(made, collection, path, overwrite=True)

    return place.keep(f"{name}.ranklet", build, (), "1")


def _trained(
    place: Place, collection: Collection, name: str, kind: str, learn: str, **options: Any
) -> Checkpoint:
    options.pop("queries", None)
    made: Any = options_of_kind(kind)(titles=True, **options)
    state = place.state(name, ())

    def build(path: Path) -> None:
        asked, tuning = read_split(collection, learn), read_split(collection, "tune")
        if kind == "bm25":
            asked = tuning[:TUNING_QUERIES]
        with all_cores():
            train(kind, collection, asked, tuning[:TUNING_QUERIES], made, state).save(path)

    return read_checkpoint(place.keep(name, build, (), "1"))


def _split(asked: Sequence[JudgedQuery]) -> Any:
    return [Query(each.id, each.text) for each in asked], {e.id: e.relevant for e in asked}


def _one_of_each(queries: Sequence[JudgedQuery]) -> list[JudgedQuery]:
    asked = Counter(name for query in queries for name in query.relevant)
    taken: set[str] = set()
    found = []
    for query in sorted(queries, key=lambda each: each.id[::-1]):
        if all(asked[name] > 1 for name in query.relevant) and not taken & set(query.relevant):
            found.append(query)
            taken |= set(query.relevant)
    return found
