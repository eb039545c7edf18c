"""Weigh the rankers of a new search by its collection alone, because there are no judgements.

A sum of scores is only as good as its scales. An encoder's cosines spread differently in each
collection and by each encoder, so each ranker is divided by the spread of its own scores over the
first candidates of queries that are made of the collection. BM25's scaled scores have one spread
everywhere, because made queries are unlike real ones in the very words that BM25 counts. Then each
ranker moves the order by about as much as any other. Rankers that match words count less than
encoders, because they were the weaker half on most collections. benchmarks/archive.md says how this
compares with reciprocal ranks, and with other spreads.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from ranklet.corpus.building.default_pipelines import (
    BY_RANKS,
    SUM,
    list_fused_rankers,
    rerankers,
    stages,
    standard_pipelines,
)
from ranklet.corpus.collections.probes import sentence
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Checked, check_type, one_of, read_from
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import MAX_WEIGHT, Fuse, Pipeline
from ranklet.runtime.pipelines.signals import read_signals
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.search.boosting import check_boost
from ranklet.runtime.search.local import LocalSearch

QUERIES = 64  # that are made; with twice as many no weight moved by more than .02
DEPTH = 100  # of each ranker's list, over which its scores spread
FUSIONS = {"sum": SUM, "ranks": BY_RANKS}  # the pipeline of each
WORDS_SHARE = 2 / 3  # of a ranker of words, where an encoder has 1; chosen on queries of train
WORDS_SPREAD = 0.1  # of scaled scores of words; chosen on queries of train, from .05 to .22
DIGITS = 3  # of a weight, so that the sums of other processors lead to the same one

_log = logging.getLogger(__name__)


def read_weights(typed: str) -> dict[str, float]:
    """Return weights by the ranker's name.

    >>> read_weights("bm25=0.4,minilm=0.6")
    {'bm25': 0.4, 'minilm': 0.6}

    Raises:
        InputError: it is written in another way.
    """
    weights = {}
    for each in typed.split(","):
        name, _, value = each.strip().rpartition("=")
        try:
            weights[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise InputError(
                f"cannot read {each!r} as a weight; type names of rankers and their weights, as in "
                "--weights bm25=0.4,minilm=0.6"
            )
    return weights


def read_boost(typed: str) -> object:
    """Return what a JSON text says.

    Raises:
        InputError: it is no JSON.
    """
    try:
        return json.loads(typed)
    except (ValueError, RecursionError) as error:
        raise InputError(f"--boost is not JSON ({error})") from None


@dataclass(frozen=True)
class FusionOptions(Checked):
    """How the lists of several rankers become one without judgements, and what is added to scores.

    Attributes:
        fusion: ``sum`` adds up weighted scores, ``ranks`` reciprocal ranks.
        weights: the weights of the sum by the rankers' names; rankers without one take no part.
            None lets the collection decide.
        boost: what metadata add to the scores of all pipelines, by field; see docs/searching.md.
    """

    GROUP = "fusion"

    fusion: str = one_of(
        "sum", tuple(FUSIONS), "how rankers are fused without judgements, by scores or by ranks"
    )
    weights: Mapping[str, float] | None = read_from(
        None, "weights of the sum, as in bm25=0.4,minilm=0.6; measured by default", read_weights
    )
    boost: Mapping[str, Mapping[str, Any]] | None = read_from(
        None,
        'what metadata add to scores, JSON as in {"date": {"half_life": "30d", "weight": 0.2}}',
        read_boost,
    )

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.weights is not None and self.fusion != "sum":
            raise InputError("weights are those of a sum; leave them out, or pass fusion='sum'")
        if self.boost is not None:
            read_signals(self.boost)
        check_type("weights", {} if self.weights is None else self.weights, Mapping)
        for name, weight in (self.weights or {}).items():
            if not isinstance(weight, int | float) or not 0 < weight <= MAX_WEIGHT:
                raise InputError(
                    f"the weight of {name!r} is {weight!r:.60}; it must be above 0 and at most "
                    f"{MAX_WEIGHT:g}. A ranker that is not named takes no part"
                )


FUSION = FusionOptions()


class Fusion(NamedTuple):
    """The pipelines of a new search, and where their weights come from."""

    pipelines: dict[str, Pipeline]
    default: str
    provenance: dict[str, Any]  # empty if nothing is fused


def describe_fusion(files: BundleFiles, options: FusionOptions) -> Fusion:
    """Return the pipelines of an indexed collection.

    Args:
        files: a bundle whose documents are indexed and whose pipelines are not final. Learned
            pipelines stay, and so does a learned default.
        options: how rankers are fused.

    Raises:
        InputError: the weights name a ranker that the bundle does not have or that is not fused.
    """
    manifest = files.manifest
    names, more = list_fused_rankers(manifest.rankers), find_learned_pipelines(manifest)
    left_out = sorted(set(manifest.rankers) - set(names) - set(rerankers(manifest.rankers)))
    if left_out and options.weights is None and not more:
        _log.warning(
            "%s: weak alone, so without part in the default search until `ranklet learn` learns "
            "the weights",
            ", ".join(left_out),
        )
    if options.weights is not None:
        _check_names(options.weights, names, manifest.rankers)
        names, weights = list(options.weights), dict(options.weights)
        source: dict[str, Any] = {"weights": "given"}
    elif len(names) > 1:
        spreads = measure_spreads(Bundle.over(LocalSearch(files)), names)
        weights = take_weights(spreads, compute_shares(manifest.rankers))
        source = {"weights": "measured on the collection", "spreads": _rounded(spreads)}
    else:
        weights, source = dict.fromkeys(names, 1.0), {}
    own, default = standard_pipelines(manifest.rankers, weights, FUSIONS[options.fusion])
    if options.boost is not None:
        signals = read_signals(options.boost)
        check_boost(signals, manifest.metadata, manifest.remarks)
        own = {name: pipeline.boosted(signals) for name, pipeline in own.items()}
    if manifest.default_pipeline in more:
        default = manifest.default_pipeline
    return Fusion({**own, **more}, default, {"fusion": source} if source else {})


def find_learned_pipelines(manifest: Manifest) -> dict[str, Pipeline]:
    """Return the pipelines that `ranklet learn` has added to a bundle."""
    standard = {SUM, BY_RANKS, *manifest.rankers}
    return {name: each for name, each in manifest.pipelines.items() if name not in standard}


def take_weights(
    spreads: Mapping[str, float], shares: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return weights that sum up to 1, each a ranker's share divided by its spread.

    A ranker whose scores do not spread says nothing, and gets the weight that it would have if they
    spread as far as those of the others do on average.

    >>> take_weights({"bm25": 0.1, "minilm": 0.15})
    {'bm25': 0.6, 'minilm': 0.4}
    >>> take_weights({"bm25": 0.1, "minilm": 0.1}, {"bm25": 2 / 3})
    {'bm25': 0.4, 'minilm': 0.6}
    >>> take_weights({"bm25": 0.0, "minilm": 0.0})
    {'bm25': 0.5, 'minilm': 0.5}

    Args:
        spreads: standard deviations of scaled scores, by the ranker's name.
        shares: how much a ranker moves the order, by its name; 1 by default.
    """
    known = [each for each in spreads.values() if each > 0]
    usual = float(np.mean(known)) if known else 1.0
    parts = {
        name: (shares or {}).get(name, 1.0) / (each if each > 0 else usual)
        for name, each in spreads.items()
    }
    total = sum(parts.values())
    return _rounded({name: each / total for name, each in parts.items()})


def compute_shares(rankers: Mapping[str, RankerEntry]) -> dict[str, float]:
    """Return the share of each ranker of words, or of tokens one by one; see `take_weights`."""
    return {
        name: WORDS_SHARE
        for name, entry in rankers.items()
        if KINDS[entry.kind].every_term or entry.read_settings(name).by_tokens
    }


def measure_spreads(bundle: Bundle, names: Sequence[str]) -> dict[str, float]:
    """Return how far scaled scores spread over a query's candidates, by the ranker's name.

    That of rankers of words is `WORDS_SPREAD`, and the others' are measured.
    """
    kinds = {name: KINDS[bundle.manifest.rankers[name].kind] for name in names}
    if all(kind.every_term for kind in kinds.values()):
        return dict.fromkeys(names, WORDS_SPREAD)
    measured = read_spreads(bundle, names)
    return {
        name: WORDS_SPREAD if kinds[name].every_term else spread
        for name, spread in measured.items()
    }


def read_spreads(bundle: Bundle, names: Sequence[str]) -> dict[str, float]:
    """Return the standard deviation of each ranker's scaled scores over a query's candidates.

    It is the mean over queries that are made of the collection. The candidates are the first
    `DEPTH` of each ranker. It is 0 if no query has two of them.

    Args:
        bundle: a bundle with a collection.
        names: the names of rankers that retrieve.
    """
    lists = stages(names, bundle.manifest.rankers, DEPTH)
    pipeline = Pipeline((*lists, Fuse("linear", tuple(names), (1.0,) * len(names))))
    deviations: list[list[float]] = []
    documents = bundle.files.need_documents()
    given = _find_given(bundle, names)
    for query, number in make_queries(documents).items():
        vector = None if given is None else _read_vector(given, number)
        ids, columns = bundle.features(query, pipeline=pipeline, vector=vector)
        if vector is not None:  # the document is too near to itself
            others = np.array([each != documents.ids[number] for each in ids], np.bool_)
            columns = {name: each[others] for name, each in columns.items()}
        if len(columns[names[0]]) > 1:
            deviations.append([float(columns[name].std(dtype=np.float64)) for name in names])
    means = np.mean(deviations, axis=0).tolist() if deviations else [0.0] * len(names)
    return dict(zip(names, means, strict=True))


def _read_vector(ranker: Retriever, number: int) -> list[float]:
    """Return the stored vector of a document."""
    found = ranker.read_vectors(np.array([number], np.uint32))
    return [] if found is None else found[0].tolist()


def _find_given(bundle: Bundle, names: Sequence[str]) -> Retriever | None:
    """Return the ranker of vectors from outside if nothing encodes queries.

    A document's vector then stands for that of the query that is made of it.
    """
    for name in names:
        settings = bundle.manifest.rankers[name].read_settings(name)
        if settings.given and not settings.by_tokens:
            return cast("Retriever", open_ranker(bundle.files, name))
    return None


def _check_names(
    weights: Mapping[str, float], able: Sequence[str], rankers: Mapping[str, RankerEntry]
) -> None:
    wrong = [name for name in weights if name not in able]
    if wrong:
        why = "only reranks what others retrieve" if wrong[0] in rankers else "is unknown"
        raise InputError(
            f"the ranker {wrong[0]!r} {why}; weights can be those of {', '.join(able) or 'none'}"
        )


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.{DIGITS}g}") for name, value in values.items()}


def make_queries(documents: Documents) -> dict[str, int]:
    """Return titles of evenly spaced documents, or a sentence of each untitled one, by text.

    Each has the number of its document.

    They depend on nothing but the documents and their order.
    """
    queries = dict[str, int]()
    for number in evenly(len(documents.ids), QUERIES):
        made = sentence(documents.texts[number], np.random.default_rng(number))
        queries.setdefault(documents.titles[number].strip() or made, number)
    return {query: number for query, number in queries.items() if query.strip()}
