"""Whether a hit's relevance tells answers from the best of what is there.

Every second query is asked without its answers, as if the collection had none. What ranklet brings
for a collection is fitted on the others, and all Debian collections count as one of them.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import BM25, COMPARED, Compared, bundle_of, model_of, queries_of
from benchmarks.harness.place import CODE, ROOT, MissingDataError, Place
from benchmarks.harness.report import table
from benchmarks.quality.relevance_picture import Told, picture
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.tuning.calibration import auc, calibration_error, fit_logistic
from ranklet.export.learning.calibrate import READ, Examples, fit
from ranklet.runtime.relevance import NUMBERS, chances
from ranklet.runtime.writing.atomic_file import atomic_file

PACKAGES = ("onnxruntime", "tokenizers", "torch", "transformers")
DOCUMENTS = 2_500  # of a collection, at most, besides those that answer a query
JUDGED = (0, 30, 100, 300)  # queries of its own that a collection is calibrated on
DRAWS, FOLDS = 5, 4  # of these queries
TOLD = """\
Every second query is asked without its answers, as if the collection had none. *Right*: the \
share of queries whose best hit answers them. *AUC*: how often a right best hit has more than a \
wrong one, by the score and by relevance. *Error*: the calibration error in ten bins, with \
weights of other domains (all Debian collections are one), and after so many of a collection's \
own judged queries, cross-validated. The weight of the score itself was chosen on scifact, \
debian-pl, debian-pt_BR and debian-ru; the caps of distance and lead on these, qa-mix and \
debian-packages. Each has at most 400 queries and some 2,500 documents. So few queries give true \
probabilities an error of .047, too."""
CODE_HERE = (*CODE, "runtime/relevance.py", "benchmarks/quality/relevance.py")
WORDS, VECTORS, SUMS = "words", "vectors", "words and vectors"
SYSTEMS = (WORDS, VECTORS, SUMS)
OF_SCORES = {WORDS: (2.0,), VECTORS: (0.0,), SUMS: (2.0, 0.0)}  # by ranker, chosen on `CHOSEN_ON`
CHOSEN_ON = ("scifact", "debian-pl", "debian-pt_BR", "debian-ru")


class Found(NamedTuple):
    """What a pipeline says of the queries of a collection."""

    examples: Examples
    scores: NDArray[np.float64]  # of the hits, (hits,)


PICTURE = ROOT / "docs" / "relevance.svg"


def run(place: Place) -> str:
    """Ask the queries of all collections, and fit what each would get of the others."""
    found = {system: dict(_found(place, system)) for system in SYSTEMS}
    parts, told = [], dict[str, dict[str, Told]]()
    errors = dict[str, list[float]]()
    for system, own in found.items():
        text, errors[system] = section(system, own)
        parts.append(text)
        for name, each in own.items():
            likely, best = unseen(own, system, name), each.examples.best
            shown = told.setdefault(name.partition(",")[0], {})
            shown[system] = Told(likely[best], each.examples.relevant[best])
    with atomic_file(PICTURE) as file:
        file.write(picture(told, errors, JUDGED).encode())
    return f"""
{TOLD} [Picture](../../docs/relevance.svg).

{(chr(10) * 2).join(parts)}
"""


def _found(place: Place, system: str) -> Iterator[tuple[str, Found]]:
    for each in COMPARED:
        each = each._replace(documents=min(DOCUMENTS, each.documents))
        try:
            yield (
                f"{each.name}, {each.model}" if system != WORDS else each.name,
                found_of(place, each, system),
            )
        except MissingDataError:
            continue


def found_of(place: Place, each: Compared, system: str) -> Found:
    """Return the best hits of a collection's queries, of which every second has no answer."""

    def make(path: Path) -> None:
        bundle, rows = bundle_of(place, each, model_of(each)), []
        pipeline = {WORDS: BM25, VECTORS: each.model, SUMS: SUM}[system]
        for number, query in enumerate(queries_of(place, each)):
            hide = tuple(query.relevant) if number % 2 else ()
            best = bundle.evidence(query.text, READ, pipeline, hide=hide)
            for place_, (name, score, row) in enumerate(zip(*best, strict=True)):
                relevant = int(name in query.relevant)
                rows.append([number, place_, relevant, float(score), *row.tolist()])
        path.write_text(json.dumps(rows))

    name = f"{each.name}.{each.model}.{each.documents}.{system.replace(' ', '-')}.relevance.json"
    rows = np.array(json.loads(place.keep(name, make, CODE_HERE).read_text()))
    examples = Examples(rows[:, 4:], rows[:, 2], rows[:, 0].astype(np.intp), rows[:, 1] == 0)
    return Found(examples, rows[:, 3])


def domain(name: str) -> str:
    """Return what a collection is left out with; all Debian collections have one domain."""
    return "debian" if name.startswith("debian") else name


def brought(
    found: Mapping[str, Found], system: str, without: str | None = None
) -> tuple[float, ...]:
    """Return the weights that collections teach, each of which counts the same.

    The weight of the score itself is `OF_SCORES`, because more of it tells better within a
    collection and worse between them.
    """
    taught = [each for name, each in found.items() if without is None or domain(name) != without]
    numbers = np.concatenate([each.examples.numbers for each in taught])
    scores, fixed = np.arange(numbers.shape[1]) % len(NUMBERS) == 0, np.array(OF_SCORES[system])
    constant, *others = fit_logistic(
        numbers[:, ~scores],
        np.concatenate([each.examples.relevant for each in taught]),
        np.concatenate([each.examples.weights / each.examples.weights.sum() for each in taught]),
        ridge=1e-6,
        offset=numbers[:, scores] @ fixed,
    )
    weights = np.empty(numbers.shape[1])
    weights[scores], weights[~scores] = fixed, others
    return (constant, *weights.tolist())


def unseen(found: Mapping[str, Found], system: str, name: str) -> NDArray[np.float64]:
    """Return how likely a collection's hits are said to be by other domains, (hits,)."""
    return chances(found[name].examples.numbers, brought(found, system, domain(name)))


def section(system: str, found: Mapping[str, Found]) -> tuple[str, list[float]]:
    """Return the table of a system and the weights that all teach, and its mean errors.

    These are of the collections that have enough queries for all of `JUDGED`.
    """
    rows, sums = [], []
    for name, each in found.items():
        prior = brought(found, system, domain(name))
        own = each.examples
        best, truth = own.best, own.relevant[own.best]
        likely = unseen(found, system, name)[best]
        errors = [_after(own, prior, count) for count in JUDGED]
        values = [auc(each.scores[best], truth), auc(likely, truth), *errors]
        sums.append(values)
        rows.append([name, f"{truth.mean():.2f}", *map(_shown, values)])
    means = np.nanmean(np.array(sums), axis=0)
    rows.append(["**mean**", "", *(f"**{value:.3f}**" for value in means)])
    head = ["collection", "right", "AUC of scores", "AUC", "error"]
    head += [f"after {count}" for count in JUDGED[1:]]
    weights = ", ".join(f"{each:.3f}" for each in brought(found, system))
    text = f"**{system}**\n\n{table(head, rows)}\n\nAll collections teach {weights}."
    whole = [each[2:] for each in sums if not np.isnan(each).any()]
    return text, np.mean(whole, axis=0).tolist()


def _shown(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def _after(own: Examples, prior: tuple[float, ...], judged: int) -> float:
    """Return the calibration error after some queries were judged, of all others, a mean of draws.

    Each fold is told by what queries of the other folds have taught.
    """
    queries, errors, rng = np.unique(own.query), [], np.random.default_rng(0)
    if judged > len(queries) * (FOLDS - 1) // FOLDS:
        return np.nan
    for _ in range(DRAWS if judged else 1):
        mixed = rng.permutation(queries)
        told = np.empty(len(own.query))
        for fold in range(FOLDS):
            held = np.isin(own.query, mixed[fold::FOLDS])
            taught = np.isin(own.query, np.delete(mixed, np.s_[fold::FOLDS])[:judged])
            weights = fit(own.of(taught), prior) if judged else prior
            told[held] = chances(own.numbers[held], weights)
        errors.append(calibration_error(told[own.best], own.relevant[own.best]))
    return float(np.mean(errors))
