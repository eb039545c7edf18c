"""Heads and marks of cross-encoders, each with its own body from one start, on equal terms.

Every system begins with the same untrained encoder and learns for the same number of steps, with
the same learning rates, queries, negatives and token lengths. So their order says something about
heads and marks, and nothing about who was trained first.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.built.trained import tuned_bm25
from benchmarks.cross_encoders import baselines, served
from benchmarks.cross_encoders.candidates import Lists, found_by_bm25
from benchmarks.cross_encoders.comparing import FOLDS, SIGNS, Row, Values, alone, shown_rows
from benchmarks.cross_encoders.scope import EXPORT_MINUTES, STEP, Scope, Sizes, announce
from benchmarks.cross_encoders.systems import CEDR, MODEL1, PRE_PAIR, SIM_PAIR, VANILLA, System
from benchmarks.cross_encoders.trainings import RATES, Chosen, Source, chosen_rate, learned, qa_mix
from benchmarks.harness.place import Place
from ranklet.export.options import ExportOptions
from ranklet.training.data.splits import read_split

QA_MIX = "qa-mix"
PACKAGES = ("torch", "transformers", "onnxruntime")
BY_CROSS_ENTROPY = tuple(each.by_cross_entropy() for each in (VANILLA, SIM_PAIR))
# One CEDR, and of the markings those of pairs, which mark what query and document share.
# `cross_quality` has the others.
SYSTEMS = (VANILLA, MODEL1, CEDR[0], SIM_PAIR, PRE_PAIR, *BY_CROSS_ENTROPY)


class Reported(NamedTuple):
    """A collection whose dev queries are reported.

    Attributes:
        collection: its name.
        titles: whether titles are part of the text.
    """

    collection: str
    titles: bool = True

    @property
    def label(self) -> str:
        """What the heading calls it."""
        return f"{self.collection}{'' if self.titles else ' without titles'}"


REPORTED = (Reported(QA_MIX), Reported("medquad", titles=False))


def run(place: Place) -> str:
    """Train what is not kept, score by the exported networks, compare."""
    scope = Scope(place)
    announce("equal_starts", estimated(scope.sizes))
    return section(scope)


def estimated(sizes: Sizes, systems: Sequence[System] = SYSTEMS) -> dict[str, float]:
    """Return the minutes of each part."""
    trainings = sum(len(each.seeds) for each in systems)
    rates = 2 * len(RATES) * sizes.training_minutes(sizes.rate_steps, sizes.rate_pool)
    return {
        "learning rates": rates,
        "trainings": trainings * sizes.training_minutes(sizes.steps, sizes.pool),
        "exports": trainings * EXPORT_MINUTES,
        "scores": trainings * sizes.scoring_minutes((sizes.queries + sizes.others) * sizes.depth),
    }


def network(scope: Scope, source: Source, system: System, rate: float, seed: int = 0) -> Path:
    """Return the folder of a system's network; it is trained where it is not kept."""
    steps, pool = scope.sizes.steps, scope.sizes.pool
    return learned(scope, source, system, steps=steps, rate=rate, pool=pool, seed=seed)


def section(
    scope: Scope,
    systems: Sequence[System] = SYSTEMS,
    reported: Sequence[Reported] = REPORTED,
    options: ExportOptions = served.EXPORT,
) -> str:
    """Return the tables of a run. The first system of each loss is what the others of it face."""
    source = qa_mix(scope.place)
    chosen = chosen_rate(scope, source)
    paths = {
        each.label: [network(scope, source, each, chosen.rate, seed) for seed in each.seeds]
        for each in systems
    }
    parts = []
    for each in reported:
        lists = _lists(scope, each)
        found = rows(scope, each, lists, systems, paths, options)
        texts = shown_rows(found, "vanilla's of its loss", notes=("pool", "minutes"))
        parts.append(
            f"### {each.label}: {len(lists.queries):,} dev queries, "
            f"BM25's first {scope.sizes.depth} reranked\n\n{texts}"
        )
    bundles = [
        served.exported(scope.place, path, {}, options) for own in paths.values() for path in own
    ]
    in_8_bits = sum(served.is_int8(bundle) for bundle in bundles)
    return "\n\n".join([_intro(scope, chosen, in_8_bits, len(bundles)), *parts])


def rows(
    scope: Scope,
    reported: Reported,
    lists: Lists,
    systems: Sequence[System],
    paths: dict[str, list[Path]],
    options: ExportOptions,
) -> list[Row]:
    """Return the baselines and the systems on a collection."""
    collection = scope.place.collection(reported.collection)
    tuning = read_split(collection, "train", limit=scope.sizes.tuning)
    beginning = baselines.of_beginnings(
        scope, collection, lists.queries, tuning, titles=reported.titles
    )
    found = [
        Row(baselines.BM25, alone(lists, lists.scores)),
        Row(baselines.BEGINNING, beginning),
        Row(baselines.COSINE, baselines.by_cosine(scope, lists)),
    ]
    by_loss: dict[str, Sequence[Values]] = {}  # of the first system of each loss, by seed
    for system in systems:
        # Vanilla by the second loss is compared with vanilla by the first.
        first = by_loss.get(system.loss) or next(iter(by_loss.values()), ())
        own = paths[system.label]
        found.append(
            served.row(
                scope.place, system.label, own, lists,
                options=options, base=first, notes=served.course(own),
            )
        )  # fmt: skip
        by_loss.setdefault(system.loss, found[-1].seeds)
    return found


def _lists(scope: Scope, reported: Reported) -> Lists:
    collection, sizes = scope.place.collection(reported.collection), scope.sizes
    most = sizes.queries if reported.collection == QA_MIX else sizes.others
    settings = tuned_bm25(scope.place, reported.collection, titles=reported.titles)
    queries = read_split(collection, "dev", limit=most)
    return found_by_bm25(
        scope.place, collection, settings, queries, sizes.depth, titles=reported.titles
    )


def _intro(scope: Scope, chosen: Chosen, in_8_bits: int, count: int) -> str:
    sizes = scope.sizes
    return f"""\
Each system begins with all-MiniLM-L6-v2, has a body of its own, and learns for {sizes.steps} \
steps of {STEP} queries of qa-mix's train, each with one negative of BM25's first 500. The loss is \
Boytsov & Kolter's margin loss unless the row says cross-entropy, which is the thesis'. All read \
{sizes.tokens} tokens, with and without marks, and have the same queries and negatives for a seed. \
Steps are counted, so the load of the machine decides nothing. The learning rate {chosen.rate:g} \
(heads: ten times as much) is the best of these on {sizes.rate_pool} held-out queries of train \
after {sizes.rate_steps} steps, by the mean of both heads' MRR@10:

{chosen.table}

Scores are those of exported bundles through the runtime. {in_8_bits} of {count} networks are \
served in 8 bits; others were not faithful enough and have 32. *With BM25* is a linear fusion with \
the scaling `variance`, which `ranklet fuse --scaling variance --folds {FOLDS}` serves. α is \
BM25's share, which each query has from the folds without it. A row with several seeds has their \
mean, and *seeds* has the lowest and the highest MRR@10. A row with one seed is compared with the \
same seed of vanilla, and *vanilla, cross-entropy* with vanilla. *Pool*: MRR@10 on {sizes.pool} \
held-out queries of train, before and after the training. *Minutes*: of training, all seeds \
together.

{SIGNS}

Sized down against the papers: MiniLM-L6 in place of BERT base, {sizes.steps * STEP:,} queries in \
place of all of MS MARCO's, {sizes.depth} candidates of a query, and one seed for most systems."""
