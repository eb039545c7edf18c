"""Exact-match marks on collections that no network has seen, and after a second phase on them.

Networks learn from qa-mix without its medical part, and read windows of medical documents with
titles and of scientific abstracts. In the second phase they learn from passages of these
collections (Boualili, chapter 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.built.trained import HELD_OUT, LEARN, tuned_bm25
from benchmarks.cross_encoders import baselines, served
from benchmarks.cross_encoders.candidates import Lists, found_by_bm25, tuned
from benchmarks.cross_encoders.comparing import RANKED_BY, SIGNS, Row, alone, shown_rows
from benchmarks.cross_encoders.scope import EXPORT_MINUTES, STEP, Scope, Sizes, announce, has_gpu
from benchmarks.cross_encoders.systems import (
    EXPANDED,
    MARKED,
    POOLED,
    PRE_PAIR,
    SEVERAL,
    SIM_PAIR,
    VANILLA,
    System,
)
from benchmarks.cross_encoders.trainings import Source, chosen_rate, learned, qa_mix
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from ranklet.export.options import ExportOptions
from ranklet.training.data.collection import Collection, Query, write_collection
from ranklet.training.data.splits import read_split

PACKAGES = ("torch", "transformers", "onnxruntime")
LEFT_OUT = "md"  # the part of qa-mix that is medquad


def _as_in_thesis(system: System) -> System:
    """Return the system, by cross-entropy; the main question's two have several seeds."""
    main = system in (VANILLA, SIM_PAIR)
    return replace(system.by_cross_entropy(), seeds=SEVERAL if main else (0,))


# One of each way for a run without a GPU, then the others.
ONE_OF_EACH = tuple(
    _as_in_thesis(each) for each in (VANILLA, SIM_PAIR, PRE_PAIR, POOLED[0], *EXPANDED[:2])
)
SYSTEMS = (
    *ONE_OF_EACH,
    *(_as_in_thesis(each) for each in (MARKED[0], MARKED[2], *POOLED[1:], *EXPANDED[2:])),
)
# 150 words every 75 and 30 windows at most in the thesis, whose networks read 512 tokens.
WINDOWS: dict[str, Any] = {
    "chunking": "words", "window": 75, "stride": 38, "chunks": 6, "combine": "max",
}  # fmt: skip
WINDOWS_READ = 5.0  # of a document, on average
PASSAGES_LEARNED = 1.5  # of a document, on average
GAIN = f"{RANKED_BY} − zero-shot (95 %)"


class Reported(NamedTuple):
    """A collection that no network has seen before the second phase.

    Attributes:
        collection: its name.
        split: that is reported.
    """

    collection: str
    split: str


REPORTED = (Reported("medquad", "dev"), Reported("scifact", "test"))


class Second(NamedTuple):
    """A second phase.

    Attributes:
        label: of its row.
        first: the system that it continues.
        system: the marks that it learns and is served with.
    """

    label: str
    first: System
    system: System


# As the thesis' Table 7.11, without its row that is marked in the second phase only.
SECOND = (
    Second("vanilla", VANILLA, VANILLA),
    Second("Sim-Pair", SIM_PAIR, SIM_PAIR),
    Second("Sim-Pair, marked in the first phase only", SIM_PAIR, VANILLA),
)


def run(place: Place) -> str:
    """Train what is not kept, score by the exported networks, compare."""
    scope = Scope(place)
    announce("marking_zero_shot", estimated(scope.sizes))
    return section(scope)


def systems() -> tuple[System, ...]:
    """Return the systems that this machine trains."""
    return SYSTEMS if has_gpu() else ONE_OF_EACH


def estimated(sizes: Sizes) -> dict[str, float]:
    """Return the minutes of each part, without the learning rate, which `equal_starts` chooses."""
    count = sum(len(each.seeds) for each in systems())
    again = len(SECOND) * len(REPORTED)
    pairs = (count * len(REPORTED) + again) * sizes.others * sizes.depth
    phase = sizes.training_minutes(sizes.needle_steps, sizes.needle_pool, PASSAGES_LEARNED)
    return {
        "trainings": count * sizes.training_minutes(sizes.steps, sizes.pool),
        "second phases": again * phase,
        "exports": (count + again) * EXPORT_MINUTES,
        "scores": sizes.scoring_minutes(pairs, WINDOWS_READ),
    }


def section(
    scope: Scope,
    some: Sequence[System] | None = None,
    reported: Sequence[Reported] = REPORTED,
    options: ExportOptions = served.EXPORT,
    second: Sequence[Second] = SECOND,
) -> str:
    """Return the tables of a run; the first system and the first second phase are vanilla's.

    Args:
        scope: of the run.
        some: the systems; None for those that this machine trains.
        reported: the collections.
        options: of the export.
        second: the second phases, each of a network of the first seed.
    """
    source, sizes = without_part(scope), scope.sizes
    rate = chosen_rate(scope, qa_mix(scope.place)).rate
    some = systems() if some is None else some
    paths = {
        each.label: [
            learned(
                scope, source, each, steps=sizes.steps, rate=rate, pool=sizes.pool, seed=seed
            )
            for seed in each.seeds
        ]
        for each in some
    }  # fmt: skip
    parts = [_intro(scope, rate, len(some))]
    for each in reported:
        lists = candidates(scope, each)
        found = rows(scope, each, lists, paths, options)
        queries = len(lists.queries)
        parts.append(
            f"### {each.collection}: {queries:,} queries of {each.split}, BM25's first "
            f"{sizes.depth} reranked\n\n"
            + shown_rows(found, "vanilla's", notes=("pool", "minutes"))
        )
        again = [found[0], *second_rows(scope, each, lists, paths, found, rate, second, options)]
        parts.append(
            f"After a second phase on {each.collection}:\n\n"
            + shown_rows(again, "vanilla's", notes=("pool", "minutes", GAIN))
        )
    return "\n\n".join(parts)


def rows(
    scope: Scope,
    reported: Reported,
    lists: Lists,
    paths: Mapping[str, Sequence[Path]],
    options: ExportOptions,
) -> list[Row]:
    """Return the baselines and the systems on a collection."""
    collection = scope.place.collection(reported.collection)
    tuning = read_split(collection, "train", limit=scope.sizes.tuning)
    beginnings = baselines.of_beginnings(scope, collection, lists.queries, tuning)
    found = [
        Row(baselines.BM25, alone(lists, lists.scores)),
        Row(baselines.BEGINNING, beginnings),
        Row(baselines.COSINE, baselines.by_cosine(scope, lists)),
    ]
    first = len(found)  # vanilla's
    for label, own in paths.items():
        base = found[first].seeds if len(found) > first else ()
        found.append(
            served.row(
                scope.place, label, own, lists,
                changes=WINDOWS, options=options, base=base, notes=served.course(own),
            )
        )  # fmt: skip
    return found


def second_rows(
    scope: Scope,
    reported: Reported,
    lists: Lists,
    paths: Mapping[str, Sequence[Path]],
    before: Sequence[Row],
    rate: float,
    second: Sequence[Second],
    options: ExportOptions,
) -> list[Row]:
    """Return the systems after a second phase on a collection.

    Args:
        scope: of the run.
        reported: the collection.
        lists: its queries with their candidates.
        paths: the networks of the first phase, by label.
        before: what these reach on the collection.
        rate: learning rate of the encoder.
        second: the second phases, vanilla's first.
        options: of the export.
    """
    place, sizes, name = scope.place, scope.sizes, reported.collection
    source = Source(name, place.collection(name), LEARN, HELD_OUT, tuned_bm25(place, name))
    zero_shot = {row.label: row.seeds for row in before}
    found: list[Row] = []
    for each in second:
        first = each.first.by_cross_entropy().label
        path = learned(
            scope, source, each.system.by_cross_entropy().by_passages(WINDOWS),
            steps=sizes.needle_steps, rate=rate, pool=sizes.needle_pool, start=paths[first][0],
        )  # fmt: skip
        base = found[0].seeds if found else ()
        row = served.row(
            scope.place,
            each.label,
            [path],
            lists,
            options=options,
            base=base,
            notes=served.course([path]),
        )
        gain = shown(difference(row.alone[RANKED_BY], zero_shot[first][0][RANKED_BY]))
        found.append(row._replace(notes=(*row.notes, gain)))
    return found


def candidates(scope: Scope, reported: Reported) -> Lists:
    """Return the queries of a collection with BM25's first documents."""
    place, sizes = scope.place, scope.sizes
    collection = place.collection(reported.collection)
    queries = read_split(collection, reported.split, limit=sizes.others)
    settings = tuned_bm25(place, reported.collection)
    return found_by_bm25(place, collection, settings, queries, sizes.depth)


def without_part(scope: Scope) -> Source:
    """Return qa-mix without the documents and queries of its medical part."""
    place = scope.place
    whole = place.collection("qa-mix")

    def build(path: Path) -> None:
        splits = {}
        for name, part in (("train", LEARN), ("held", HELD_OUT)):
            queries = [each for each in read_split(whole, part) if not _left_out(each.id)]
            qrels = {each.id: each.relevant for each in queries}
            splits[name] = [Query(each.id, each.text) for each in queries], qrels
        documents = (each for each in whole.documents() if not _left_out(each.id))
        write_collection(path, documents, splits, overwrite=True)

    code = ("training/data/splits.py", "benchmarks/cross_encoders/marking_zero_shot.py")
    collection = Collection(place.keep(f"qa-mix.without-{LEFT_OUT}", build, code))
    queries = read_split(collection, "train", limit=scope.sizes.tuning)
    return Source(collection.name, collection, "train", "held", tuned(place, collection, queries))


def _left_out(name: str) -> bool:
    """Return whether a document or a query belongs to the part that is left out.

    >>> _left_out("md-1"), _left_out("ss-md-1")
    (True, False)
    """
    return name.startswith(f"{LEFT_OUT}-")


def _intro(scope: Scope, rate: float, count: int) -> str:
    sizes = scope.sizes
    ways = "" if count == len(SYSTEMS) else f"{count} of the {len(SYSTEMS)} systems, "
    return f"""\
Each network begins with all-MiniLM-L6-v2 and learns for {sizes.steps} steps of {STEP} queries of \
qa-mix without its medical part, by cross-entropy, at the learning rate {rate:g} that \
`equal_starts` has chosen. It reads {sizes.tokens} tokens then. Documents that are reported, with \
titles, are read in windows of {WINDOWS["window"]} words every {WINDOWS["stride"]}, at most \
{WINDOWS["chunks"]}, and the best window counts (MaxP). All scores are those of exported bundles. \
*With BM25* is a linear fusion with the scaling `variance`, α by cross-validation. The backbone \
was trained on many collections before, so only reranking is zero-shot.

The second phase continues a network for {sizes.needle_steps} steps of {STEP} queries of the \
collection's train, at the same rate. It learns each window by itself, with the label of its \
document: the first one and a tenth of the others. *{GAIN}* is what it adds to the same network. \
*Pool* is MRR@10 before and after on the {sizes.pool} held-out queries of the first phase, and \
{sizes.needle_pool} of the second, which choose between both weights. So a second phase with the \
same value before and after has changed nothing.

{SIGNS}

Sized down against the thesis: MiniLM-L6 in place of BERT base, {sizes.steps * STEP:,} queries in \
place of all of MS MARCO's, windows of {WINDOWS["window"]} words in place of 150, {ways}and one \
seed for all but vanilla and Sim-Pair, whose values are the means of {len(SEVERAL)} seeds. \
*Seeds*: the lowest and the highest. A row with one seed is compared with that seed of vanilla. \
ELECTRA is left out, because no trained one is at hand."""
