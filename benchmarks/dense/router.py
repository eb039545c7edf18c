"""Routers whose queries static embeddings encode.

These learn from texts what the network says of them, no query among these, and are saved as
sentence-transformers saves a router. Documents are encoded once, by the network. Every step is
kept, so an interrupted run continues.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense.query_table import MEASURE, RANDOM, SHORT, compared, list_values, make_table
from benchmarks.fusion.collections import (
    E5,
    MINILM,
    Compared,
    bundle_of,
    model_of,
    queries_of,
    rankers_of,
)
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from ranklet import runtime
from ranklet.corpus.building.default_fusion import FUSION, describe_fusion
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.rankers.dense import INDEXED
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.query_table import QUERIES as OF_QUERIES

PACKAGES = ("onnxruntime", "sentence-transformers")
LEARNED = {  # whose texts the static embeddings of a network learn from
    MINILM: ("scifact", "qa-mix", "medquad", "google-wiki", "debian-packages"),
    E5: ("debian-de", "debian-de-en"),
}
COLLECTIONS = (*LEARNED[MINILM], "debian-de-en")
QUERIES, TIMED = 300, 200  # of a collection, and of a network's collections
NETWORK, STATIC = SYSTEMS = ("network", "static")  # encode queries
CODE = ("corpus", "training", "export", "src/ranklet/workflows", "runtime/rankers")

Values = Mapping[str, NDArray[np.float64]]  # of each query, by system


def run(place: Place) -> str:
    """Learn the static embeddings, and compare the systems on the queries of each collection."""
    found, last = dict[str, Values](), dict[str, Compared]()
    for each in _named(COLLECTIONS):
        try:
            found[each.name] = _values(place, each)
        except MissingDataError as missing:
            print(f"{each.name}: {missing}", file=sys.stderr)
            continue
        last[each.model] = each
        print(_quality({each.name: found[each.name]}), file=sys.stderr)
    return f"{_quality(found)}\n\n{_costs(place, last.values())}\n\n{_said()}"


def _named(names: Sequence[str]) -> list[Compared]:
    own = {each.name: each for each in compared()}
    return [own[name] for name in names]


def system_of(place: Place, each: Compared, system: str) -> runtime.Bundle:
    """Return the bundle of a collection whose queries a system encodes."""
    network = bundle_of(place, each, model_of(each))
    if system == NETWORK:
        return network
    made = place.keep(f"{each.model}.{_file(system)}", partial(_save, place, each), CODE)
    rankers = BundleFiles(rankers_of(place, each, made, f"{each.model}.{_file(system)}"))
    kept = place.keep(
        f"{each.name}.{_file(system)}.ranklet", partial(_write, network.files, rankers, each.model),
        CODE, f"{network.manifest.sha256} {rankers.manifest.sha256}",
    )  # fmt: skip
    return runtime.load(kept)


def _write(network: BundleFiles, rankers: BundleFiles, name: str, path: Path) -> None:
    """Write a bundle of documents that the network has encoded, and of a router's queries."""
    manifest, own = network.manifest, f"rankers/{name}/"
    entry, settings = manifest.rankers[name], rankers.manifest.rankers[name].settings
    with BundleWriter(path, overwrite=True) as writer:
        for file in manifest.files:
            if not file.startswith(own) or file.removeprefix(own) in INDEXED:
                writer.data(file, network.file(file))
        writer.copy(rankers, own + OF_QUERIES)
        entries = {**manifest.rankers, name: replace(entry, settings=settings)}
        manifest = replace(manifest, rankers=entries)
        fused = describe_fusion(writer.written(manifest), FUSION)
        writer.finish(replace(manifest, pipelines=fused.pipelines, default_pipeline=fused.default))


def _save(place: Place, each: Compared, path: Path) -> None:
    """Save a router whose queries have the table of `query_table`, and no prompt."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import (
        Normalize,
        Router,
        StaticEmbedding,
    )

    whole: Any = SentenceTransformer(str(model_of(each)), device="cpu")
    learned = make_table(place, each, _named(LEARNED[each.model]))
    tokenizer = whole[0].tokenizer.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    print(f"{each.model}, static: cosine {learned.cosine:.3f}", file=sys.stderr)
    static = StaticEmbedding(tokenizer, embedding_weights=learned.rows)
    router = Router.for_query_document([static], [*whole][:2])
    prompts = {**whole.prompts, "query": ""}
    made = SentenceTransformer(modules=[router, Normalize()], device="cpu", prompts=prompts)
    made.save(str(path))


def _values(place: Place, each: Compared) -> Values:
    """Return the measure of each query by system."""
    values = dict[str, NDArray[np.float64]]()
    for system in SYSTEMS:
        recipes = {system: each.model, f"BM25 + {system}": SUM}
        bundle = system_of(place, each, system)
        values |= list_values(place, each, bundle, recipes, _file(system), QUERIES)
    return values


def _file(system: str) -> str:
    return f"{system}.router"


def _quality(found: Mapping[str, Values]) -> str:
    names = [*next(iter(found.values()))]
    rows = [[each, *(f"{own[name].mean():.3f}" for name in names)] for each, own in found.items()]
    means = {name: np.mean([own[name].mean() for own in found.values()]) for name in names}
    rows.append(["mean", *(f"{means[name]:.3f}" for name in names)])
    return table([MEASURE, *names], rows)


def _costs(place: Place, collections: Iterable[Compared]) -> str:
    """Return what encodes queries, in bytes, and the processor's time of a query's vector."""
    rows = []
    for each in collections:
        bundles = {system: system_of(place, each, system) for system in SYSTEMS}
        texts = [query.text for query in queries_of(place, each, TIMED)]
        encoders = {name: bundle.encode_query for name, bundle in bundles.items()}
        took = take_turns(encoders, texts, 5, clock=process_time)
        for name, bundle in bundles.items():
            own, files = f"rankers/{each.model}/", bundle.manifest.files
            size = sum(
                entry.bytes for file, entry in files.items()
                if file.startswith(own) and file.removeprefix(own) not in INDEXED
            )  # fmt: skip
            ms = float(np.median(took[name]))
            rows.append([each.model, name, f"{size / 1e6:.1f}", f"{ms:.2f}"])
    return table(["", "queries by", "MB", "ms per query"], rows)


def _said() -> str:
    return f"""{QUERIES} queries of each collection, documents as in query_table. Static \
embeddings learned from {RANDOM[False]:,} sequences of random words and at most {SHORT:,} short \
texts of each collection."""
