"""Model 1 over words and lemmas on four collections, next to BM25 of whole texts and beginnings.

The collections differ in how many queries there are to learn from, and in how far the words of
queries are from those of documents. Queries whose relevant documents were relevant in training are
also left out, because a translation table may have memorised them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.built import model1
from benchmarks.built.trained import HELD_OUT, LEARN, TUNING_QUERIES, bm25_checkpoint
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.judging import sharing
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.fusion import learn_weights
from ranklet.runtime.pipeline import Fuse, Pipeline, Rescore, Retrieve
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection, Document, write_collection
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.systems import MEASURES, Evaluation, comparisons, evaluate, mark
from ranklet.training.indexing.wordpieces import read_tokenizer
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.bm25 import training as bm25
from ranklet.training.rankers.bm25.options import Options as BM25Options

PACKAGES = ("simplemma", "tokenizers")
DEPTH = 1000  # candidates of BM25 over lemmas, the first stage of every system
RANKED_BY = MEASURES[0]
PIECES = 112  # word pieces of a beginning, what a cross-encoder of 128 tokens reads of a document
BASE, BEGINNINGS = "BM25 (lemmas), tuned", f"BM25 of the first {PIECES} word pieces, tuned"
WORDS, LEMMAS = "+ Model 1 (words)", "+ Model 1 (lemmas)"
NO_SELF, SHORT, LONG = f"{WORDS}, p_self 0", f"{WORDS}, 1 round of EM", f"{WORDS}, 20 rounds"
RANKERS = {
    WORDS: "model1",
    LEMMAS: "model1-lemmas",
    NO_SELF: "model1-no-self",
    SHORT: "model1-1",
    LONG: "model1-20",
}


@dataclass(frozen=True)
class Tried:
    """A collection, what is reported of it, and what is learned from.

    Attributes:
        collection: its name.
        split: of the queries that are reported.
        titles: whether titles are part of the text.
        learn: the part of train that the tables are learned from.
        held_out: the part of train that constants and weights are chosen on.
        queries: reported, at most.
    """

    collection: str
    split: str = "dev"
    titles: bool = True
    learn: str = LEARN
    held_out: str = HELD_OUT
    queries: int = 2_000

    @property
    def label(self) -> str:
        """What the table calls it."""
        return f"{self.collection}{'' if self.titles else ' without titles'}"

    @property
    def name(self) -> str:
        """What kept things of it are called."""
        return f"{self.collection}{'' if self.titles else '.untitled'}"


TRIED = (
    Tried("medquad", titles=False),
    Tried("qa-mix"),
    # 809 queries of train: half of them, so that there are enough to choose on.
    Tried("scifact", "test", learn="train[:50%]", held_out="train[50%:]"),
    Tried("google-wiki"),
)


def run(place: Place) -> str:
    """Learn, index, choose weights on held-out queries, and report."""
    parts = [_part(place, tried) for tried in TRIED]
    return f"""
All systems rerank the first {DEPTH:,} of *{BASE}*, but for *{BEGINNINGS}*, which is an index of \
its own. k1 and b are tuned on {TUNING_QUERIES:,} queries of train, p_self, λ and the weights of \
the fusions on held-out queries of train that share no relevant document with those learned from, \
all for {RANKED_BY}. Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's \
correction over the systems of a collection). *Unseen* is {RANKED_BY} of the queries none of whose \
relevant documents is relevant to a query of train.

{chr(10).join(parts)}"""


def _part(place: Place, tried: Tried) -> str:
    collection = place.collection(tried.collection)
    queries = read_split(collection, tried.split, limit=tried.queries)
    bundle = runtime.load(_bundle(place, tried))
    recipes, told = {BASE: Pipeline((Retrieve("bm25", DEPTH),))}, []
    held_out = read_split(collection, tried.held_out, limit=TUNING_QUERIES)
    for label, ranker in RANKERS.items():
        learned = learn_weights(bundle, ["bm25", ranker], held_out)
        recipes[label] = _fused(ranker, learned.weights)
        told.append(f"{label[2:]} {' : '.join(f'{each:.3f}' for each in learned.weights)}")
    found = evaluate(bundle, queries, recipes, depth=DEPTH)
    beginnings = runtime.load(_beginnings_bundle(place, tried))
    alone = {BEGINNINGS: Pipeline((Retrieve("bm25", DEPTH),))}
    found[1:1] = evaluate(beginnings, queries, alone, depth=DEPTH)
    unseen = ~sharing(queries, read_split(collection, "train"))
    head = ["system", *MEASURES, f"{RANKED_BY} − BM25's (95 %)", "unseen"]
    documents, count = len(bundle), int(unseen.sum())
    return f"""### {tried.label}: {documents:,} documents, {len(queries):,} queries of \
{tried.split}, {count:,} unseen

{table(head, _rows(found, unseen))}

{_chosen(place, tried)} Weights of BM25 and Model 1: {", ".join(told)}.
"""


def _rows(found: Sequence[Evaluation], unseen: NDArray[np.bool_]) -> list[list[str]]:
    against = {measure: comparisons(found, measure, BASE) for measure in MEASURES}
    base, rows = found[0].values[RANKED_BY], []
    for each in found:
        means = [f"{each.mean(measure):.4f}" for measure in MEASURES]
        interval, own = "", each.values[RANKED_BY]
        if each.pipeline != BASE:
            marks = [mark(against[measure][each.pipeline].p_holm).strip() for measure in MEASURES]
            means = [f"{mean}{sign}" for mean, sign in zip(means, marks, strict=True)]
            interval = shown(difference(own, base))
        alone = f"{own[unseen].mean():.4f}" if unseen.any() else ""
        rows.append([each.pipeline, *means, interval, alone])
    return rows


def _fused(ranker: str, weights: Sequence[float]) -> Pipeline:
    both = Fuse("linear", ("bm25", ranker), tuple(weights))
    return Pipeline((Retrieve("bm25", DEPTH), Rescore(ranker), both))


def _chosen(place: Place, tried: Tried) -> str:
    """Say which constants were chosen, and how much they matter on held-out queries."""
    parts = []
    for label, field in ((WORDS, "words"), (LEMMAS, "lemmas")):
        learned = _model1(place, tried, field=field)
        grid = learned.training["grid"]
        best = {
            key: {
                value: max(each["value"] for each in grid if each[key] == value)
                for value in sorted({each[key] for each in grid})
            }
            for key in ("p_self", "lambda")
        }
        values = "; ".join(
            f"by {name} " + ", ".join(f"{value:g}: {most:.3f}" for value, most in own.items())
            for name, own in zip(("p_self", "λ"), best.values(), strict=True)
        )
        settings = learned.settings
        parts.append(
            f"{label[2:]}: p_self {settings.p_self:g}, λ {settings.lambda_:g} "
            f"({RANKED_BY} of held-out queries {values})."
        )
    return " ".join(parts)


def _model1(place: Place, tried: Tried, *, field: str = "words", iterations: int = 5) -> Checkpoint:
    return model1.learned(
        place, tried.collection, tried.learn, tried.held_out,
        titles=tried.titles, field=field, iterations=iterations,
    )  # fmt: skip


def _bundle(place: Place, tried: Tried) -> Path:
    """Return a bundle of a collection with BM25 and every Model 1."""

    def build(path: Path) -> None:
        words = _model1(place, tried)
        checkpoints = {
            "bm25": bm25_checkpoint(place, tried.collection, titles=tried.titles),
            RANKERS[WORDS]: words,
            RANKERS[LEMMAS]: _model1(place, tried, field="lemmas"),
            RANKERS[NO_SELF]: replace(words, settings=replace(words.settings, p_self=0.0)),
            RANKERS[SHORT]: _model1(place, tried, iterations=1),
            RANKERS[LONG]: _model1(place, tried, iterations=20),
        }
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints, rankers, overwrite=True)
        documents = place.collection(tried.collection)
        index_bundle(rankers, documents, path, titles=tried.titles, overwrite=True)

    return place.keep(f"{tried.name}.model1.ranklet", build, (*CODE, *model1.CODE))


def _beginnings_bundle(place: Place, tried: Tried) -> Path:
    """Return a bundle of the beginnings of documents with BM25, tuned for them."""

    def build(path: Path) -> None:
        documents = beginnings(place, tried)
        tuning = read_split(documents, "train", limit=TUNING_QUERIES)
        tuned = bm25.train(documents, tuning, [], BM25Options(titles=False))
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle({"bm25": tuned}, rankers, overwrite=True)
        index_bundle(rankers, documents, path, titles=False, overwrite=True)

    return place.keep(f"{tried.name}.{PIECES}.bm25.ranklet", build)


def beginnings(place: Place, tried: Tried) -> Collection:
    """Return a collection of the first `PIECES` word pieces of each document's ranked text."""
    whole = place.collection(tried.collection)

    def build(path: Path) -> None:
        tokenizer = read_tokenizer(wheel_folder())

        def cut(document: Document) -> Document:
            text = ranked_text(document.title, document.text, tried.titles)
            ends = tokenizer.encode(text, add_special_tokens=False).offsets[:PIECES]
            return Document(document.id, "", text[: ends[-1][1]] if ends else "")

        splits = {"train": (whole.queries("train"), whole.qrels("train"))}
        write_collection(path, map(cut, whole.documents()), splits)

    code = ("runtime/text/ranked.py", "training/data/collection.py")
    return Collection(place.keep(f"{tried.name}.{PIECES}.beginnings", build, code))
