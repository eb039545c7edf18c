"""Late interaction from a query's text to ids on qa-mix, next to fast-plaid and xtr-warp-rs.

One bundle has BM25 and a ColBERT of MiniLM-L6, encoded and stored in int8. BM25 gathers documents
and MaxSim rescores them, or MaxSim scores all. The others search an index of the same vectors, of a
part of the collection, because they index in half precision, which this processor may not have.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import cut_qa_mix_colbert, qa_mix_colbert
from benchmarks.built.peers import opened
from benchmarks.harness.judging import list_values
from benchmarks.harness.place import CODE as BUILT
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.late_interaction.engines import (
    BUILD_PLAID,
    BUILD_WARP,
    ENCODER,
    MOST_SECONDS,
    OURS,
    PLAID,
    WARP,
    Engine,
    Vectors,
    bytes_under,
    peer_index,
    peers,
    seconds_to_index,
)
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import mark
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.colbert.ranker import ColBERT
from ranklet.runtime.rankers.opening import open_ranker

PACKAGES = ("onnxruntime", "tokenizers", "onnx", "torch")
COLLECTION, SPLIT = "qa-mix", "dev"
QUERIES, TIMED, ROUNDS = 300, 200, 3
PASSAGES = 10_000  # of the part that the others index, too
GATHERED = (100, 1_000)
TOP, DEEP = 10, 100
MEASURES = {"MRR@10": TOP, "nDCG@10": TOP, "R@100": DEEP}  # each with the depth that it needs
BM25, EXHAUSTIVE, ENCODING = "BM25 alone", "ranklet: MaxSim of all documents", "encoding a query"
# Settings that are searched with: first the default, then more of the index.
PLAID_SETTINGS: dict[str, dict[str, Any]] = {
    "default (8 probes)": {},
    "16 probes": {"n_ivf_probe": 16, "n_full_scores": 8192},
    "32 probes": {"n_ivf_probe": 32, "n_full_scores": 16384},
}
WARP_SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "32 probes": {"nprobe": 32},
    "128 probes": {"nprobe": 128, "bound": 4096, "centroid_score_threshold": 0.0},
}
PLAID_NAME = "fast-plaid"
# xtr-warp-rs chooses its effort by the number of documents that are wanted.
DEPTHS = {PLAID_NAME: (DEEP,), "xtr-warp-rs": (TOP, DEEP)}
OTHERS = (
    (PLAID_NAME, PLAID_SETTINGS, (BUILD_PLAID, PLAID)),
    ("xtr-warp-rs", WARP_SETTINGS, (BUILD_WARP, WARP)),
)
CODE = (*BUILT, "benchmarks/late_interaction/engines.py")


class Measured(NamedTuple):
    """What is known of a contender."""

    ms: list[NDArray[np.float64]]  # of each round, (queries timed,)
    peaks: list[int]  # memory of each round, bytes
    values: dict[str, NDArray[np.float64]]  # by measure, (queries,)


def run(place: Place) -> str:
    """Answer the queries by every engine, in fresh processes that take turns."""
    queries = read_split(place.collection(COLLECTION), SPLIT, limit=QUERIES)
    needed = {name for query in queries for name in query.relevant}
    whole = qa_mix_colbert(place)
    part = cut_qa_mix_colbert(place, needed, PASSAGES)
    return f"""
{QUERIES} {SPLIT} queries of {COLLECTION} for quality, the first {TIMED} of them timed, or as \
many as {MOST_SECONDS:g} s suffice for, one at a time on one thread, top {TOP}. Medians of \
{ROUNDS} fresh processes each, in turns; *memory* is their peak, mapped files included. Against \
*{EXHAUSTIVE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction for each \
measure). R@{DEEP} of what rescores is bounded by BM25's, and equals it where BM25 gathers {DEEP}.

{_contest(place, whole, queries, others=False)}
{_contest(place, part, queries, others=True)}"""


def _contest(place: Place, path: Path, queries: Sequence[JudgedQuery], *, others: bool) -> str:
    """Return the table of a bundle: our pipelines, and other engines with the same vectors."""
    bundle = opened(path)
    ours, notes = _ours(place, path, bundle, queries), []
    engines, sizes = dict(ours), dict.fromkeys(ours, _size(bundle))
    sizes[BM25] = _size(bundle, colbert=False)
    for name, settings, snippets in OTHERS if others else ():
        if name == PLAID_NAME and not has_half_precision():
            notes.append(
                f"- {name} has no row, because this processor has no instructions for half "
                "precision, in which it computes. Indexing all documents would take more than an "
                "hour."
            )
            continue
        try:
            vectors = _vectors(place, bundle, queries)
            theirs = _peers(place, name, settings, snippets, vectors)
        except RuntimeError as reason:  # its own process has failed
            notes.append(f"- {name} has no row: {_last_line(reason)}")
            continue
        engines |= theirs[0]
        sizes |= dict.fromkeys(theirs[0], bytes_under(theirs[1]))
        minutes = seconds_to_index(theirs[1]) / 60
        notes.append(f"- {name} took {minutes:.1f} minutes to index the vectors, on all cores.")
    found = measured(engines, queries, _ids(bundle), rounds=ROUNDS)
    encoding = float(np.median(np.concatenate(found.pop(ENCODING).ms)))
    return _report(found, sizes, set(ours), encoding, bundle, notes)


def measured(
    engines: Mapping[str, Engine],
    queries: Sequence[JudgedQuery],
    names: Sequence[str],
    *,
    rounds: int,
) -> dict[str, Measured]:
    """Answer queries by every engine: once for quality, then in turns for time.

    Args:
        engines: by name.
        queries: that are answered for quality; the first of them are timed.
        names: ids of the documents by their numbers.
        rounds: processes of each engine that are timed.
    """
    found = {}
    for name, engine in engines.items():  # this also fills the page cache
        hits = engine.run(depths=engine.depths)["hits"] if engine.depths else {}
        found[name] = Measured([], [], quality(hits, queries, names) if hits else {})
    for _ in range(rounds):
        for name, engine in engines.items():
            answer = engine.run(timed=TIMED)
            found[name].ms.append(np.array(answer["ms"]))
            found[name].peaks.append(answer["VmHWM"])
    return found


def quality(
    hits: Mapping[str, Sequence[Sequence[int]]],
    queries: Sequence[JudgedQuery],
    names: Sequence[str],
) -> dict[str, NDArray[np.float64]]:
    """Return each measure's value of each query, (queries,).

    Args:
        hits: by depth, the numbers of the documents that each query found, best first; without a
            depth of its own, a measure takes the largest.
        queries: with their relevant documents.
        names: ids of the documents by their numbers.
    """
    values: dict[str, NDArray[np.float64]] = {}
    for measure, depth in MEASURES.items():
        found = hits.get(str(depth), hits[str(DEEP)])
        ranked = [[names[number] for number in own] for own in found]
        falling = [-np.arange(len(own), dtype=np.float32) for own in ranked]
        values |= list_values(queries, ranked, falling, [measure])
    return values


def _ours(
    place: Place, path: Path, bundle: BundleFiles, queries: Sequence[JudgedQuery]
) -> dict[str, Engine]:
    """Return our pipelines, and the encoder alone."""
    texts = place.work / "late-queries.json"
    ids = place.work / f"late-ids.{len(_ids(bundle))}.json"
    texts.write_text(json.dumps([query.text for query in queries]))
    ids.write_text(json.dumps(_ids(bundle)))
    rescored = {"stage": "rescore", "ranker": "colbert"}

    def engine(*stages: dict[str, Any]) -> Engine:
        values = {"path": str(path), "texts": str(texts), "ids": str(ids)}
        return Engine(OURS, {**values, "pipeline": list(stages)}, depths=(DEEP,))

    def gathered(count: int) -> dict[str, Any]:
        return {"stage": "retrieve", "ranker": "bm25", "k": count}

    everything = {"stage": "retrieve", "ranker": "colbert", "k": DEEP}
    return {
        BM25: engine(gathered(DEEP)),
        **{
            f"ranklet: MaxSim of BM25's {count:,}": engine(gathered(count), rescored)
            for count in GATHERED
        },
        EXHAUSTIVE: engine(everything),
        ENCODING: Engine(ENCODER, {"path": str(path), "texts": str(texts)}),
    }


def _peers(
    place: Place,
    name: str,
    settings: Mapping[str, Mapping[str, Any]],
    snippets: tuple[str, str],
    vectors: Vectors,
) -> tuple[dict[str, Engine], Path]:
    """Return a peer with some settings, and its index.

    Raises:
        RuntimeError: it cannot index, or cannot search; the text has its own error.
    """
    build, search = snippets
    path = peer_index(place, f"{vectors.folder.name}.{name}", build, vectors, CODE)
    python = peers(place)
    given = {"path": str(path), **vectors.queries()}
    engines = {
        f"{name}, {how}": Engine(search, {**given, "options": dict(options)}, python, DEPTHS[name])
        for how, options in settings.items()
    }
    for engine in engines.values():
        engine.run(timed=1)
    return engines, path


def _vectors(place: Place, bundle: BundleFiles, queries: Sequence[JudgedQuery]) -> Vectors:
    """Return the bundle's vectors, and those of the queries, as the others read them."""
    ranker = open_ranker(bundle, "colbert")
    if not isinstance(ranker, ColBERT):
        raise TypeError(f"colbert is {ranker!r}")

    def build(path: Path) -> None:
        own = ranker.encoder.encode([query.text for query in queries], "query").vectors
        Vectors.write(path, ranker.token_store, own)

    return Vectors(place.keep(f"{COLLECTION}.{len(ranker.token_store)}.late-vectors", build, CODE))


def _ids(bundle: BundleFiles) -> list[str]:
    if bundle.documents is None:
        raise TypeError("the bundle has no documents")
    ids = bundle.documents.ids
    return [ids[number] for number in range(len(ids))]


def _size(bundle: BundleFiles, *, colbert: bool = True) -> int:
    """Return the bytes of what is searched: the index of BM25, and the stored vectors."""
    files = bundle.manifest.files
    folders = ("rankers/bm25/", *(("rankers/colbert/vectors.",) if colbert else ()))
    return sum(entry.bytes for name, entry in files.items() if name.startswith(folders))


def _report(
    found: Mapping[str, Measured],
    sizes: Mapping[str, int],
    ours: set[str],
    encoding: float,
    bundle: BundleFiles,
    notes: Sequence[str],
) -> str:
    marks = significances(found, EXHAUSTIVE)
    rows = []
    for name, each in found.items():
        common = min(map(len, each.ms))
        ms = np.median(np.stack([own[:common] for own in each.ms]), axis=0)
        extra = 0.0 if name in ours else encoding
        inside = encoding if name in ours and name != BM25 else 0.0
        rows.append(
            [
                name,
                f"{np.median(ms) + extra:.1f}",
                f"{np.percentile(ms, 95) + extra:.1f}",
                f"{np.median(ms) - inside:.1f}",
                *(f"{each.values[m].mean():.4f}{marks[name, m]}" for m in MEASURES),
                f"{sizes[name] / 1e6:,.0f}",
                f"{np.median(each.peaks) / 1e6:,.0f}",
            ]
        )
    store = open_ranker(bundle, "colbert").token_store  # type: ignore[attr-defined]
    head = ["", "p50 ms", "p95 ms", "p50 without encoding", *MEASURES, "index, MB", "memory, MB"]
    values = store.vectors.values
    told = [
        f"- Ours begin with a text, whose encoding takes {encoding:.1f} ms.",
        *(
            [
                "- The others are given the vectors of the query, as float32, and this time is "
                "added to theirs in *p50* and *p95*. Their memory is without an encoder, and "
                "includes PyTorch, which they need.",
                "- The others index the vectors that our bundle stores, in 4 bits by default.",
            ]
            if set(found) - ours
            else []
        ),
        *notes,
    ]
    return f"""### {len(store):,} documents, {len(values):,} token vectors of {values.shape[1]} \
dimensions

{table(head, rows)}

{chr(10).join(told)}
"""


def has_half_precision(processor: str | None = None) -> bool:
    """Return whether a processor multiplies matrices of half precision by instructions of its own.

    >>> has_half_precision("flags : fpu avx512f avx512_fp16"), has_half_precision("flags : avx2")
    (True, False)

    Args:
        processor: as Linux describes it; None for this one.
    """
    if processor is None:
        described = Path("/proc/cpuinfo")
        processor = described.read_text() if described.is_file() else ""
    return not {"avx512_fp16", "amx_fp16", "fphp"}.isdisjoint(processor.split())


def significances(found: Mapping[str, Measured], base: str) -> dict[tuple[str, str], str]:
    """Return the mark of each contender and measure against `base`; empty for `base` itself."""
    marks = {(base, measure): "" for measure in MEASURES}
    others = [name for name in found if name != base]
    for measure in MEASURES:
        values = {name: each.values[measure] for name, each in found.items()}
        tested = compare(values, pairs=[(name, base) for name in others])
        marks |= {
            (name, measure): mark(each.p_holm).strip()
            for name, each in zip(others, tested, strict=True)
        }
    return marks


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]
