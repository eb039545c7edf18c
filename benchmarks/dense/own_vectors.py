"""Tables that learned from documents and their vectors alone, next to the network and to words.

The network is a black box here: its vectors of passages are all that a build gets, and nobody has
its weights or its tokenizer. No query is learned from.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense.query_table import SURE, Values, compared, count_sure, list_values, quality
from benchmarks.fusion.collections import MINILM, Compared, bundle_of, documents_of, model_of
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import goal_at_least
from ranklet import runtime
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.runtime.rankers.dense import open_vectors
from ranklet.workflows.build import VECTORS, build
from ranklet.workflows.tables.options import QueryOptions

PACKAGES = ("onnxruntime", "tokenizers", "torch", "transformers")
ENCODING = ("runtime/onnx", "benchmarks/fusion/collections.py")
NETWORK = "BM25 + network"
LEAST_SHARE = 0.955  # of the hybrid with the network


def run(place: Place) -> str:
    """Learn a table for each collection, and compare the systems on its queries."""
    found, cosines = dict[str, Values](), dict[str, str]()
    for each in compared():
        if each.model != MINILM:
            continue
        try:
            network = _by_network(place, each)
            bundle = _by_vectors(place, each)
        except MissingDataError as missing:
            print(f"{each.name}: {missing}", file=sys.stderr)
            continue
        recipes = {"BM25": "bm25", "table": VECTORS, "BM25 + table": SUM}
        own = list_values(place, each, bundle, recipes, "own")
        found[each.name] = {**own, NETWORK: network}
        cosines[each.name] = bundle.manifest.provenance["checkpoints"][VECTORS]["query table"]
        print(quality({each.name: found[each.name]}), file=sys.stderr)
    said = "\n".join(f"- {name}: {each}" for name, each in cosines.items())
    return f"{quality(found)}\n\n{said}\n\n{_verdicts(found)}"


def _verdicts(found: Mapping[str, Values]) -> str:
    """Return which goals are met."""
    (hybrid, network), values = ("BM25 + table", NETWORK), found.values()
    share = sum(each[hybrid].mean() for each in values) / sum(
        each[network].mean() for each in values
    )
    surely = count_sure(found, hybrid)
    return "\n".join(
        [
            goal_at_least("the share of the hybrid with the network", share, LEAST_SHARE, ""),
            goal_at_least(
                f"collections above BM25 with p < {SURE}", surely, 2 / 3 * len(found), ""
            ),
        ]
    )


def _vectors(place: Place, each: Compared) -> NDArray[np.float32]:
    """Return the network's vectors of passages, (passages, dimension), which are kept."""

    def encode(path: Path) -> None:
        bundle = bundle_of(place, each, model_of(each))
        vectors = open_vectors(bundle.files, each.model, bundle.files.settings(each.model))
        np.save(path, vectors.floats(slice(None)))

    stored: NDArray[np.float32] = np.load(
        place.keep(f"{each.name}.{each.model}.vectors.npy", encode, ENCODING)
    )
    return stored


def _by_network(place: Place, each: Compared) -> NDArray[np.float64]:
    """Return the measure of each query by words and the network, which is kept."""

    def measure(path: Path) -> None:
        bundle = bundle_of(place, each, model_of(each))
        values = list_values(place, each, bundle, {NETWORK: SUM}, "network")
        path.write_text(json.dumps(values[NETWORK].tolist()))

    path = place.keep(f"{each.name}.{each.model}.by-network.json", measure, ENCODING)
    return np.array(json.loads(path.read_text()))


def _by_vectors(place: Place, each: Compared) -> runtime.Bundle:
    """Return a bundle of passages and vectors, whose table has learned from these alone."""
    vectors = _vectors(place, each)

    def index(path: Path) -> None:
        records = [document._asdict() for document in documents_of(place, each)]
        rows = iter(vectors)

        def encode(texts: Sequence[str]) -> list[NDArray[np.float32]]:
            return [next(rows) for _ in texts]

        source = Source(records, SourceOptions(skip_bad=True))
        with redirect_stdout(sys.stderr):  # what it says is no part of the section
            build(
                source, path, vectors=encode, language=each.language,
                query=QueryOptions(queries="table"), overwrite=True,
            )  # fmt: skip

    return runtime.load(place.keep(f"{each.name}.own.ranklet", index))
