"""Model 1 by EM or by a network, fused with BM25 by a weight of queries that were held out."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.searched import Asked, Data, Lists, Trained, again
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.indexing.translation_tables import Translations, as_table, background
from ranklet.corpus.languages.options import WORDS
from ranklet.corpus.tuning.coordinate_ascent import coordinate_ascent
from ranklet.corpus.tuning.judged_candidates import judge
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.training.learning.device import choose_device
from ranklet.training.rankers.model1 import training as em
from ranklet.training.rankers.model1.constants import CANDIDATES, Likelihoods, make_features
from ranklet.training.rankers.model1.options import Options as EMOptions
from ranklet.training.rankers.neural_model1 import training as neural
from ranklet.training.rankers.neural_model1.options import Options as NeuralOptions
from ranklet.training.rankers.neural_model1.sparsify import tables


def train(data: Data, options: dict[str, Any]) -> Trained:
    """Learn T(q|d) by EM over lemmas, or by a network over word pieces."""
    collection, _, held_out = data
    by_network, bm25, titles = options.pop("network"), options["bm25"], options["titles"]
    rounds = options.pop("iterations", EMOptions().iterations)
    if by_network:
        checkpoint = neural.train(*data, options=NeuralOptions(**options))
    else:
        checkpoint = em.train(
            *data, options=EMOptions(iterations=rounds, bm25=bm25, titles=titles, words=WORDS)
        )
    field = checkpoint.settings.field
    analysed = analyse(
        collection.documents(), [field, bm25.field],
        tokenizer=checkpoint.tokenizer, titles=titles, known_words=checkpoint.tokens,
        options=WORDS,
    )  # fmt: skip
    retriever = analysed.bm25(bm25)
    features = make_features(retriever, _likelihoods(checkpoint, analysed))
    judged = judge(analysed, held_out, retriever, CANDIDATES, features, "choosing a weight")
    weights = np.array(coordinate_ascent(judged, "MRR@10", restarts=2).weights)

    def rank(asked: Asked) -> Mapping[str, Lists]:
        ranked = []
        for query, numbers in zip(asked.queries, asked.found, strict=True):
            context = QueryContext(query.text, analysed.analyzer.begin())
            first = StoredCandidates(analysed.documents, numbers[:CANDIDATES].astype(np.uint32))
            ranked.append(again(numbers, features(context, first) @ weights))
        return {"": ranked}

    return Trained(checkpoint, rank, {"weight of Model 1": float(weights[1])})


def _likelihoods(checkpoint: Any, analysed: AnalysedCollection) -> Likelihoods:
    settings = checkpoint.settings
    prior = background(analysed.frequencies(settings.field))
    if checkpoint.kind == "neural_model1":
        of_tokens = tables(neural.load(checkpoint).to(choose_device("auto")))
    else:
        table = as_table(_renumbered(checkpoint, analysed), analysed.analyzer.size(settings.field))

        def of_tokens(*_: Any) -> Any:
            return table

    return Likelihoods(of_tokens, prior, settings.field, [(settings.p_self, settings.lambda_)])


def _renumbered(checkpoint: Any, analysed: AnalysedCollection) -> Translations:
    """Return a table over the tokens of an analysis, sorted as `as_table` needs it."""
    numbers = {form: at for at, form in enumerate(analysed.analyzer.vocabulary.forms)}
    own = np.array([numbers[form] for form in checkpoint.tokens], np.int32)
    source, target = own[checkpoint.arrays["source"]], own[checkpoint.arrays["target"]]
    order = np.lexsort((source, target))
    probability = checkpoint.arrays["probability"].astype(np.float64)
    return Translations(source[order], target[order], probability[order])
