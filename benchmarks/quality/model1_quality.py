"""What Model 1 adds to BM25 where questions and answers use other words.

medquad without titles, as in Boytsov & Kolter's Table 2: fusions of BM25 over lemmas with a
second ranker, and each Model 1 against a BM25 over the same field, which sees the same tokens.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import VOCABULARY_WHEEL, medquad
from benchmarks.built.peers import opened, retriever_of
from benchmarks.built.trained import HELD_OUT, TUNING_QUERIES, medquad_neural_model1
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.fusion import learn_weights
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.lexical.model1 import translation_likelihoods
from ranklet.runtime.pipeline import Fuse, Pipeline, Rescore, Retrieve, Stage
from ranklet.runtime.rankers.neural_model1 import NeuralModel1
from ranklet.runtime.storage.forward import Gathered
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import Judged, mean, parse_measure
from ranklet.training.evaluation.significance import Comparison, compare
from ranklet.training.evaluation.systems import MEASURES, Evaluation, evaluate, mark
from ranklet.training.progress import progress
from ranklet.training.rankers.model1.constants import Tables
from ranklet.training.rankers.neural_model1 import training as neural_model1
from ranklet.training.rankers.neural_model1.sparsify import tables

PACKAGES = ("tokenizers", "simplemma", VOCABULARY_WHEEL.replace("_", "-"))
RANKED_BY, MOST_LOST = "MRR@10", 0.015
DEPTH = 1000  # candidates of BM25 over lemmas, the first stage of every system
BASE, NEURAL = "bm25-lemmas", "neural_model1"
EXPORTED = "+ NN-Model1-exp (word pieces)"
LEARNED = {  # by the label of the system, what BM25 over lemmas is fused with, weights learned
    "+ BM25 (words)": ("bm25-words",),
    "+ BM25 (word pieces)": ("bm25-wordpieces",),
    "+ Model 1 (words)": ("model1-words",),
    "+ Model 1 (word pieces)": ("model1-wordpieces",),
    EXPORTED: (NEURAL,),
    "+ all five": ("bm25-words", "bm25-wordpieces", "model1-words", "model1-wordpieces", NEURAL),
}
UNTUNED, TUNED = "BM25 (lemmas), untuned", "BM25 (lemmas), tuned"
PAIRS = (  # what Model 1 adds beyond a second look through the same field, as the paper asks
    ("+ Model 1 (words)", "+ BM25 (words)"),
    ("+ Model 1 (word pieces)", "+ BM25 (word pieces)"),
    (EXPORTED, "+ BM25 (word pieces)"),
    (EXPORTED, "+ Model 1 (word pieces)"),
    (EXPORTED, "+ Model 1 (words)"),
)


def run(place: Place) -> str:
    """Learn weights on what was held out of train; evaluate on dev."""
    bundle = runtime.load(medquad(place))
    collection = place.collection("medquad")
    held_out, queries = read_split(collection, HELD_OUT), read_split(collection, "dev")
    recipes = {UNTUNED: _recipe(["untuned"]), TUNED: _recipe([BASE])}
    weights = {}
    for label, others in LEARNED.items():
        rankers = [BASE, *others]
        weights[label] = learn_weights(bundle, rankers, held_out).weights
        recipes[label] = _recipe(rankers, "linear", weights[label])
    pair = [BASE, "model1-words"]
    recipes["+ Model 1 (words), reciprocal ranks"] = _recipe(pair, "rrf", (1.0, 1.0))
    recipes["+ Model 1 (words), alternating"] = _recipe(pair, "alternate")
    found = {e.pipeline: e for e in evaluate(bundle, queries, recipes, depth=DEPTH)}
    sparse, whole = _sparsified_or_not(place, queries, weights[EXPORTED])
    speed = {label: _ms_per_thousand(bundle, recipe, queries) for label, recipe in recipes.items()}
    head = ["system", *MEASURES, "rerank, ms per 1k documents"]
    shown = ", ".join(
        f"{label[2:]} {' : '.join(f'{w:.3f}' for w in learned)}"
        for label, learned in weights.items()
    )
    return f"""
medquad without titles: {len(bundle):,} documents, {len(queries)} dev queries. BM25 tuned on \
{TUNING_QUERIES:,} queries of train; Model 1 by EM on train[:90%], p_self, λ and the weights of \
fusion on {HELD_OUT} ({len(held_out)} queries), all for MRR@10. Every system reranks the top \
{DEPTH} of BM25 over lemmas.

{table(head, _rows(found, speed))}

Against *{TUNED}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction over all \
systems, a family for each measure). Speed is the time of the stages after the first, on one \
thread, over the documents that were there to rerank; median over queries.

As the paper asks it, Model 1 against BM25 over the same field, both fused with BM25 over lemmas:

{table(["", *MEASURES], _pairs(found))}

What sparsifying costs: the same fusion with every T(q|d) of the network, none dropped, reaches \
{RANKED_BY} {whole:.4f}, with the exported table {sparse:.4f}: a loss of \
{1 - sparse / whole:+.2%} (goal: ≤ {MOST_LOST:.1%}). {_course(place)}

Settings that were chosen: {_settings(bundle)}. Weights: {shown}.
"""


def _recipe(rankers: Sequence[str], method: str = "", weights: Sequence[float] = ()) -> Pipeline:
    stages: list[Stage] = [Retrieve(rankers[0], DEPTH), *(Rescore(name) for name in rankers[1:])]
    if method:
        stages.append(Fuse(method, tuple(rankers), tuple(weights)))
    return Pipeline(tuple(stages))


def _rows(found: dict[str, Evaluation], speed: dict[str, float]) -> list[list[str]]:
    against = {
        measure: {
            pair[0]: compared
            for pair, compared in _compared(
                found, measure, [(name, TUNED) for name in found if name != TUNED]
            ).items()
        }
        for measure in MEASURES
    }
    return [
        [
            name,
            *(
                f"{each.mean(measure):.4f}"
                + (mark(against[measure][name].p_holm).strip() if name != TUNED else "")
                for measure in MEASURES
            ),
            f"{speed[name]:.2f}" if speed[name] else "",
        ]
        for name, each in found.items()
    ]


def _pairs(found: dict[str, Evaluation]) -> list[list[str]]:
    compared = {measure: _compared(found, measure, PAIRS) for measure in MEASURES}
    return [
        [
            f"{pair[0]} − {pair[1][2:]}",
            *(
                f"{each[pair].difference:+.4f}{mark(each[pair].p_holm)}"
                for each in compared.values()
            ),
        ]
        for pair in PAIRS
    ]


def _compared(
    found: dict[str, Evaluation], measure: str, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Comparison]:
    values = {name: each.values[measure] for name, each in found.items()}
    return dict(zip(pairs, compare(values, pairs=pairs), strict=True))


def _ms_per_thousand(
    bundle: runtime.Bundle, recipe: Pipeline, queries: Sequence[JudgedQuery]
) -> float:
    """Return the median ms that reranking 1,000 documents takes; 0 where nothing is reranked."""
    if len(recipe.stages) == 1:
        return 0.0
    took = []
    for query in queries[:100]:
        timings = bundle.rank(query.text, k=1, pipeline=recipe).timings
        ms = sum(each.ms for each in timings[1:-1])  # neither retrieving nor reading the hits
        candidates = len(bundle.rank_ids(query.text, pipeline=Pipeline(recipe.stages[:1])))
        if candidates:
            took.append(ms * 1000 / candidates)
    return float(np.median(took))


class ByNetwork(NeuralModel1):
    """A neural Model 1 that keeps every T(q|d) of its network, however small."""

    def __init__(self, exported: NeuralModel1, translations: Tables) -> None:
        super().__init__(exported.settings, exported.table, exported.background)
        self._translations = translations

    def likelihoods(self, tokens: NDArray[np.int32], documents: Gathered) -> NDArray[np.float32]:
        """Return Σ_d T(q|d) P(d|D), (query tokens, documents) float32."""
        table = self._translations(tokens, documents.tokens)
        return translation_likelihoods(tokens, table, self.settings.p_self, documents)


def _sparsified_or_not(
    place: Place, queries: Sequence[JudgedQuery], weights: Sequence[float]
) -> tuple[float, float]:
    """Return the measure of BM25 and neural Model 1, by the exported table and by the network."""
    parts = opened(medquad(place))
    base, ranker = retriever_of(parts, BASE), parts.ranker(NEURAL)
    if not isinstance(ranker, NeuralModel1) or parts.documents is None:
        raise TypeError(f"{NEURAL} is {ranker!r}")
    network = neural_model1.load(medquad_neural_model1(place))
    both = (ranker, ByNetwork(ranker, tables(network, threshold=0)))
    lists: tuple[list[NDArray[np.float32]], ...] = ([], [])
    grades: list[NDArray[np.int64]] = []
    for each in progress(queries, "with and without the small translations"):
        query = QueryContext(each.text, parts.analyzer.begin())
        numbers = base.retrieve(query, DEPTH).numbers
        candidates = StoredCandidates(parts.documents, numbers)
        first = base.score(query, candidates).values * base.scale(query)
        for scores, each_way in zip(lists, both, strict=True):
            second = each_way.score(query, candidates).values * ranker.scale(query)
            scores.append(weights[0] * first + weights[1] * second)
        ids = [parts.documents.ids[number] for number in numbers.tolist()]
        grades.append(np.array([each.relevant.get(name, 0) for name in ids], np.int64))
    measure = parse_measure(RANKED_BY)
    sparse, whole = (
        mean(judged, judged.scores(np.ones(1)), measure)
        for judged in (
            Judged.from_lists([row[:, None] for row in scores], grades) for scores in lists
        )
    )
    return sparse, whole


def _course(place: Place) -> str:
    """Say how neural Model 1 was trained."""
    report = medquad_neural_model1(place).training
    dev = ", ".join(f"{each['value']:.3f}" for each in report["evaluations"])
    return (
        f"Trained for {report['epochs']} epochs, {report['seconds'] / 60:.0f} minutes on all "
        f"cores; {RANKED_BY} beside BM25 on some held-out queries after each: {dev}."
    )


def _settings(bundle: runtime.Bundle) -> str:
    found = []
    for name, entry in bundle.manifest.rankers.items():
        numbers = {key: value for key, value in entry.settings.items() if key != "field"}
        told = ", ".join(f"{key.rstrip('_')} {value}" for key, value in numbers.items())
        found.append(f"{name} ({told})")
    return "; ".join(found)
