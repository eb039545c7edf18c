"""BM25's defaults against others: k1 and b, lemmas and stems, and the weight of titles.

Each variant changes one default. Differences on queries of train are there to choose by, and those
on other queries are what is reported. A default changes only if another is better on most
collections and significantly worse on none.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.evenly import evenly
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.significance import paired_t_test
from ranklet.training.evaluation.systems import measured
from ranklet.training.indexing.analysed import AnalysedCollection, analyse, open_bm25
from ranklet.training.indexing.language.options import TextOptions

PACKAGES = ("simplemma", "snowballstemmer")
MEASURE, DEPTH, QUERIES = "nDCG@10", 10, 1_000
UNSTEMMED = "ja"  # has no stems
CODE = (
    "training/indexing",
    "runtime/text",
    "runtime/lexical",
    "benchmarks/lexical/bm25_defaults.py",
)
LANGUAGES = {"de": "de", "fr": "fr", "ja": "ja", "pl": "pl", "pt_BR": "pt", "ru": "ru"}
ENGLISH = ("qa-mix", "medquad", "scifact", "google-wiki", "debian-packages")
COLLECTIONS = {
    **dict.fromkeys(ENGLISH, "en"),
    **{f"debian-{name}": code for name, code in LANGUAGES.items()},
}


UNTUNED = BM25Settings()


@dataclass(frozen=True)
class Variant:
    """A BM25 that differs from the default in one thing."""

    name: str
    settings: BM25Settings = UNTUNED
    normaliser: str = TextOptions.normaliser


DEFAULT = Variant("the default")
VARIANTS = (
    *(Variant(f"k1 {k1}, b {b}", BM25Settings(k1=k1, b=b)) for k1, b in ((1.2, 0.75), (1.5, 0.75))),
    *(Variant(f"k1 {k1}, b 0.4", BM25Settings(k1=k1)) for k1 in (0.6, 1.2)),
    *(Variant(f"`--normaliser {each}`", normaliser=each) for each in ("lemma+stem", "stem")),
    *(Variant(f"`--title-boost {x}`", BM25Settings(title_boost=x)) for x in (2.0, 3.0)),
)

Analyse = Callable[[str], AnalysedCollection]  # by a normaliser
Values = Mapping[str, NDArray[np.float64]]  # by variant, a value per query, (queries,)


def run(place: Place) -> str:
    """Rank the queries of each collection by each variant."""
    train, found = dict[str, Values](), dict[str, Values]()
    for name, language in COLLECTIONS.items():
        collection, last = place.collection(name), "test" if name == "scifact" else "dev"
        queries = {split: _some(read_split(collection, split)) for split in ("train", last)}
        variants = [
            each for each in VARIANTS if language != UNSTEMMED or "stem" not in each.normaliser
        ]
        analysed = partial(_analysed, collection, language)

        def build(path: Path) -> None:
            values = values_of(analysed, queries, variants)  # noqa: B023 (it is called here)
            plain = {split: {k: v.tolist() for k, v in of.items()} for split, of in values.items()}
            path.write_text(json.dumps(plain))

        kept = json.loads(place.keep(f"{name}.bm25_defaults.json", build, CODE).read_text())
        by_split = {split: {k: np.array(v) for k, v in of.items()} for split, of in kept.items()}
        train[name], found[name] = by_split["train"], by_split[last]
    rows = [_row(variant.name, train, found) for variant in VARIANTS]
    means = " ".join(f"{name} {values[DEFAULT.name].mean():.3f}" for name, values in found.items())
    head = [
        "variant",
        "train: mean, better on",
        "mean",
        "better on",
        "significantly better / worse",
    ]
    return f"""
{table(head, rows)}

Differences of {MEASURE} from the default (k1 {UNTUNED.k1}, b {UNTUNED.b}, lemmas, titles count \
once), at most {QUERIES:,} queries of train and of dev (scifact: test) of {len(COLLECTIONS)} \
collections. p < .05, two-sided paired t-tests, not corrected. The default: {means}.
"""


def _analysed(collection: Collection, language: str, normaliser: str) -> AnalysedCollection:
    words = TextOptions(language=language, normaliser=normaliser)
    return analyse(collection.documents(), ["lemmas"], options=words)


def values_of(
    analysed: Analyse, queries: Mapping[str, list[JudgedQuery]], variants: Sequence[Variant]
) -> dict[str, Values]:
    """Return the values of each split's queries by variant.

    Args:
        analysed: returns the collection by a normaliser.
        queries: by split.
        variants: of the default.
    """
    found: dict[str, dict[str, NDArray[np.float64]]] = {split: {} for split in queries}
    for normaliser in dict.fromkeys(each.normaliser for each in (DEFAULT, *variants)):
        collection = analysed(normaliser)
        for variant in (DEFAULT, *variants):
            if variant.normaliser == normaliser:
                for split, values in _ranked(collection, variant, queries):
                    found[split][variant.name] = values
    return dict(found)


def _ranked(
    collection: AnalysedCollection, variant: Variant, queries: Mapping[str, list[JudgedQuery]]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    settings = replace(variant.settings, field="lemmas")
    ranker, ids = open_bm25(settings, collection.bm25_postings(settings)), collection.documents.ids
    for split, asked in queries.items():
        run = {}
        for query in asked:
            context = QueryContext(query.text, collection.analyzer.begin())
            numbers, _, _ = ranker.retrieve(context, DEPTH)
            run[query.id] = [(ids[n], -float(rank)) for rank, n in enumerate(numbers.tolist())]
        yield split, measured(asked, run, [MEASURE])[MEASURE]


def _row(name: str, train: Mapping[str, Values], found: Mapping[str, Values]) -> list[str]:
    mean, better, _ = _gains(name, train)
    own, own_better, surely = _gains(name, found)
    return [name, f"{mean}, {better}", own, own_better, surely]


def _gains(name: str, found: Mapping[str, Values]) -> tuple[str, str, str]:
    """Return the mean difference over collections, where it is positive, and where surely so."""
    pairs = [(values[name], values[DEFAULT.name]) for values in found.values() if name in values]
    gains = [float((ours - base).mean()) for ours, base in pairs]
    p = [paired_t_test(ours, base) if (ours != base).any() else 1.0 for ours, base in pairs]
    surely = [gain for gain, each in zip(gains, p, strict=True) if each < 0.05]
    above, below = (sum(sign * gain > 0 for gain in surely) for sign in (1, -1))
    better = f"{sum(gain > 0 for gain in gains)} of {len(gains)}"
    return f"{np.mean(gains):+.4f}", better, f"{above} / {below}"


def _some(queries: list[JudgedQuery]) -> list[JudgedQuery]:
    return [queries[at] for at in evenly(len(queries), QUERIES)]
