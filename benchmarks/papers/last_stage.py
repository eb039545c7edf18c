"""A cross-encoder as the last stage of a hybrid, whose weights were chosen before."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.papers.plans import HYBRID
from benchmarks.papers.searched import Asked, Data, Lists, Trained, again, asked_of, encoded
from benchmarks.papers.text_scorer import text_scorer
from ranklet.corpus.collections.trec import write_run
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.learning.device import choose_device
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.cross_encoder import training as cross
from ranklet.training.rankers.cross_encoder.options import Options
from ranklet.training.rankers.dense import importing
from ranklet.training.rankers.dense import training as dense

ALONE = "the cross-encoder alone"
BATCHES: dict[str, Any] = {
    "margin": {"loss": "margin", "batch": 16, "negatives_each": 1},
    "softmax": {"loss": "softmax", "batch": 4, "negatives_each": 7},
}  # 32 pairs per step each
EACH, LAST = 100, 20  # documents of BM25 and of the encoder; those that the last stage reads
WEIGHTS = np.arange(0, 1.01, 0.1)
TAUGHT, DEPTH = 6000, 8  # queries whose candidates a teacher scores, and candidates of BM25


class Candidates(NamedTuple):
    """What BM25 and an encoder find for a query.

    Attributes:
        numbers: of documents, (candidates,) int64.
        scores: of BM25 and of the encoder, standardised, (candidates, 2) float32.
        hits: (candidates,) bool.
    """

    numbers: NDArray[np.integer]
    scores: NDArray[np.floating]
    hits: NDArray[np.bool_]


def train(data: Data, options: dict[str, Any]) -> Trained:
    """Train a cross-encoder by its loss, and weigh it on the queries that are held out."""
    collection, learn, held_out = data
    batches, scores_of = BATCHES[options.pop("loss")], options.pop("teaches", None)
    checkpoint = cross.train(
        *data, options=Options(accumulation=1, learning_rate=1e-4, **batches, **options)
    )
    read = text_scorer(checkpoint, "auto")
    bm25, titles = options["bm25"], options["titles"]
    if scores_of:
        _teach(read, asked_of(collection, learn[:TAUGHT], bm25, titles=titles), scores_of)
    asked = asked_of(collection, held_out[:300], bm25, titles=titles)
    found = _candidates(asked)
    first = _best(lambda weight: [_mixed(each.scores, weight) for each in found], found)
    lists = [_order(each, _mixed(each.scores, first)) for each in found]
    pairs = [_read(read, asked, *each) for each in zip(asked.queries, lists, strict=True)]
    second = _best(
        lambda weight: [_mixed(own, weight) for own in pairs],
        [Candidates(n[:LAST], own, h[:LAST]) for (n, _, h), own in zip(lists, pairs, strict=True)],
    )

    def rank(asked: Asked) -> Mapping[str, Lists]:
        hybrid, last, alone = [], [], []
        for query, each in zip(asked.queries, _candidates(asked), strict=True):
            ordered = _order(each, _mixed(each.scores, first))
            own = _read(read, asked, query, ordered)
            hybrid.append(ordered.numbers)
            last.append(again(ordered.numbers, _mixed(own, second)))
            alone.append(again(ordered.numbers, own[:, 1]))
        return {"": last, HYBRID: hybrid, ALONE: alone}

    chosen = {"weight of BM25": float(first), "weight of the hybrid": float(second)}
    return Trained(checkpoint, rank, chosen)


def _teach(read: Any, asked: Asked, path: str) -> None:
    """Write the scores of some training queries' candidates, for students."""
    run = {}
    for query, found in zip(asked.queries, asked.found, strict=True):
        numbers = found[:DEPTH].tolist()
        scores = read([(query.text, asked.text(number)) for number in numbers]).tolist()
        names = [asked.analysed.documents.ids[number] for number in numbers]
        run[query.id] = sorted(zip(names, scores, strict=True), key=lambda hit: -hit[1])
    write_run(path, run, "teacher")


def _candidates(asked: Asked) -> list[Candidates]:
    checkpoint = importing.import_model(ModelFolder(wheel_folder()))
    model = dense.load(checkpoint).to(choose_device("auto")).eval()
    texts, queries = asked.texts(), [each.text for each in asked.queries]
    of_all = encoded(model, checkpoint, texts, checkpoint.settings.max_document_tokens)
    of_queries = encoded(model, checkpoint, queries, checkpoint.settings.max_query_tokens)
    made = []
    for at, query in enumerate(asked.queries):
        cosines = (of_all @ of_queries[at]).float()
        near = torch.topk(cosines, min(EACH, len(texts))).indices.cpu().numpy()
        numbers = np.union1d(asked.found[at][:EACH], near).astype(np.int64)
        lexical = np.full(len(texts), min(asked.scores[at], default=0), np.float32)
        lexical[asked.found[at]] = asked.scores[at]
        both = np.stack([lexical[numbers], cosines.cpu().numpy()[numbers]], 1)
        made.append(Candidates(numbers, _standard(both), asked.hits(query, numbers)))
    return made


def _read(read: Any, asked: Asked, query: Any, ordered: Candidates) -> NDArray[np.floating]:
    """Return the scores of the first stage and of a cross-encoder, standardised, (≤ LAST, 2)."""
    first = ordered.scores[:LAST, :1]
    pairs = [(query.text, asked.text(number)) for number in ordered.numbers[:LAST].tolist()]
    return _standard(np.concatenate([first, read(pairs)[:, None]], 1))


def _order(each: Candidates, scores: NDArray[np.floating]) -> Candidates:
    order = np.argsort(-scores, kind="stable")
    return Candidates(each.numbers[order], scores[order, None], each.hits[order])


def _standard(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    scaled: NDArray[np.floating] = (scores - scores.mean(0)) / (scores.std(0) + 1e-6)
    return scaled


def _mixed(scores: NDArray[np.floating], weight: float) -> NDArray[np.floating]:
    return np.asarray(weight * scores[:, 0] + (1 - weight) * scores[:, 1])


def _best(
    scores: Callable[[float], Sequence[NDArray[np.floating]]], found: Sequence[Candidates]
) -> float:
    """Return the weight with the highest MRR@10."""

    def measure(weight: float) -> float:
        ranked = [
            each.hits[np.argsort(-own, kind="stable")][:10]
            for own, each in zip(scores(weight), found, strict=True)
        ]
        return sum(1 / (1 + int(hits.argmax())) if hits.any() else 0 for hits in ranked)

    return float(max(WEIGHTS, key=measure))
