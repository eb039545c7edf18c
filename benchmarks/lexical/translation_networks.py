"""Where T(q|d) of Model 1 comes from: EM, a network, its loss, and scaled cosines of two vectors.

Boytsov & Kolter (§3) found scaled cosines to be worse than EM, and a network to be better. All
networks learn from the same queries, and differ in one thing. Scaled cosines are near ½ for most
pairs of tokens, so they make no sparse table and cannot be served. So networks are computed by
PyTorch here, at the threshold of a table where they have one.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.built import model1
from benchmarks.built.trained import (
    HELD_OUT,
    LEARN,
    NEURAL_MODEL1,
    TUNING_QUERIES,
    bm25_checkpoint,
    train_resumably,
    tuned_bm25,
)
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import table
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import Candidates, StoredCandidates, numbers_of
from ranklet.runtime.call.query import QueryContext
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.indexing.analysed import AnalysedCollection, analyse
from ranklet.training.indexing.translation_tables import background
from ranklet.training.rankers.model1.constants import Likelihoods, only
from ranklet.training.rankers.neural_model1 import training
from ranklet.training.rankers.neural_model1.options import Options
from ranklet.training.rankers.neural_model1.sparsify import tables
from ranklet.training.tuning.coordinate_ascent import coordinate_ascent
from ranklet.training.tuning.judged_candidates import judge

PACKAGES = ("torch", "tokenizers")
COLLECTION = "medquad"  # without titles, which give answers away
QUERIES = 2_000  # of dev, at most
DEPTH = 200  # candidates of BM25
MEASURES = ("MRR@10", "nDCG@10")
RANKED_BY = MEASURES[0]
FIELD = "wordpieces"
BASE, EM = "BM25 (lemmas), tuned", "+ EM (words)"
STEPS = 6_000  # some ten minutes each
# What differs from the first one.
NETWORKS = {
    "+ network, cross-entropy, 7 negatives": Options(),
    "+ network, margin, 1 negative": Options(objective="margin", negatives_each=1),
    "+ network from random vectors": Options(embeddings="random"),
    "+ scaled cosines": Options(parametrisation="cosine"),
}


def run(place: Place, collection: str = COLLECTION, steps: int = STEPS) -> str:
    """Learn, choose weights on held-out queries, and report."""
    documents = place.collection(collection)
    networks = {label: _network(place, collection, label, steps) for label in NETWORKS}
    held_out = read_split(documents, HELD_OUT, limit=TUNING_QUERIES)
    queries = read_split(documents, "dev", limit=QUERIES)
    systems = _Systems(place, collection, list(networks.values()))
    tuning, asked = systems.judged(held_out), systems.judged(queries)
    values = {measure: {BASE: per_query(asked, asked.features[:, :, 0], parse_measure(measure))}
              for measure in MEASURES}  # fmt: skip
    weights = []
    for at, label in enumerate((EM, *networks), start=1):
        learned = coordinate_ascent(only(tuning, [0, at]), RANKED_BY).weights
        fused = only(asked, [0, at]).features @ np.array(learned, np.float32)
        for measure in MEASURES:
            values[measure][label] = per_query(asked, fused, parse_measure(measure))
        weights.append(f"{label[2:]} {' : '.join(f'{each:.2f}' for each in learned)}")
    return f"""
{collection} without titles, {systems.documents:,} documents, {len(queries):,} queries of dev. All \
systems rerank the first {DEPTH:,} of *{BASE}*. Networks take {steps:,} steps of {Options.batch} \
queries, from the vectors of MiniLM-L6's word pieces unless they are random. p_self, λ and the \
weights of the fusions are chosen on held-out queries of train for {RANKED_BY}.

{_table(values)}

† p < .05, ‡ p < .01 against *{BASE}* (two-sided paired t-tests, Holm's correction over the \
systems). The last column is {RANKED_BY} less that of *{EM}*, with the interval of 95 %.

Weights of BM25 and Model 1: {"; ".join(weights)}. {_courses(networks)}
"""


class _Systems:
    """BM25 and all Model 1 of a collection, which score the same candidates."""

    def __init__(self, place: Place, collection: str, networks: Sequence[Checkpoint]) -> None:
        settings = tuned_bm25(place, collection, titles=False)
        self._analysed: AnalysedCollection = analyse(
            place.collection(collection).documents(), [FIELD, settings.field],
            tokenizer=networks[0].need_tokenizer(), titles=False,
        )  # fmt: skip
        self._bm25 = self._analysed.bm25(settings)
        self._bundle = BundleFiles(_bundle(place, collection))
        prior = background(self._analysed.frequencies(FIELD))
        self._networks = [
            Likelihoods(
                tables(training.load(each)), prior, FIELD,
                [(each.settings.p_self, each.settings.lambda_)],
            )
            for each in networks
        ]  # fmt: skip
        self.documents = len(self._analysed.documents)

    def judged(self, queries: Sequence[JudgedQuery]) -> Judged:
        """Return the candidates of queries with BM25's, EM's and each network's scores."""
        return judge(self._analysed, queries, self._bm25, DEPTH, self._features, "Model 1")

    def _features(self, query: QueryContext, candidates: Candidates) -> NDArray[np.float32]:
        base = self._bm25.score(query, candidates).values * self._bm25.scale(query)
        own = QueryContext(query.text, self._bundle.analyzer.begin())
        em = self._bundle.ranker("em")
        stored = StoredCandidates(self._bundle.need_documents(), numbers_of(candidates))
        by_em = em.score(own, stored).values * em.scale(own)
        by_network = (next(iter(each.by_setting(query, candidates))) for each in self._networks)
        return np.column_stack([base, by_em, *by_network])


def _table(values: dict[str, dict[str, NDArray[np.float64]]]) -> str:
    rows, em = [], values[RANKED_BY][EM]
    labels = list(values[RANKED_BY])
    pairs = [(label, BASE) for label in labels[1:]]
    tests = {
        m: dict(zip(labels[1:], compare(values[m], pairs=pairs), strict=True)) for m in MEASURES
    }
    for label in labels:
        cells = [label]
        for measure in MEASURES:
            sign = "" if label == BASE else mark(tests[measure][label].p_holm).strip()
            cells.append(f"{values[measure][label].mean():.4f}{sign}")
        own = values[RANKED_BY][label]
        rows.append([*cells, "" if label in (BASE, EM) else shown(difference(own, em))])
    return table(["system", *MEASURES, "− EM's (95 %)"], rows)


def _courses(networks: dict[str, Checkpoint]) -> str:
    told = [f"{label[2:]} {each.training['best']:.3f}" for label, each in networks.items()]
    return (
        f"{RANKED_BY} of held-out queries with the constants that were chosen: {'; '.join(told)}."
    )


def _network(place: Place, collection: str, label: str, steps: int) -> Checkpoint:
    """Return a network; a training that was interrupted goes on."""
    name = f"{collection}.untitled.{steps}.network-{list(NETWORKS).index(label)}"

    def build(path: Path) -> None:
        documents = place.collection(collection)
        options = replace(
            NETWORKS[label],
            steps=steps,
            evaluations=6,
            titles=False,
            bm25=tuned_bm25(place, collection, titles=False),
        )
        learn, held_out = read_split(documents, LEARN), read_split(documents, HELD_OUT)
        train_resumably(
            training.train, documents, learn, held_out[:TUNING_QUERIES], options, path,
            place.state(name, NEURAL_MODEL1),
        )  # fmt: skip

    return read_checkpoint(place.keep(name, build, NEURAL_MODEL1))


def _bundle(place: Place, collection: str) -> Path:
    """Return a bundle with BM25 and Model 1 by EM."""

    def build(path: Path) -> None:
        em = model1.learned(place, collection, LEARN, HELD_OUT, titles=False)
        checkpoints = {"bm25": bm25_checkpoint(place, collection, titles=False), "em": em}
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints, rankers, overwrite=True)
        index_bundle(rankers, place.collection(collection), path, titles=False, overwrite=True)

    return place.keep(f"{collection}.untitled.em.ranklet", build, (*CODE, *model1.CODE))
