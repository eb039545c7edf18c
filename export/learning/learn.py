"""Turn judged queries into a better search: learn rankers, choose among them, and report once."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from ranklet.corpus.building.default_fusion import FusionOptions
from ranklet.corpus.building.default_pipelines import RERANKED, rerankers
from ranklet.corpus.building.writer import check_source, check_target
from ranklet.corpus.collections.collection import Collection, Document
from ranklet.corpus.evaluation.measures import parse_measure
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.corpus.index import index_bundle
from ranklet.corpus.progress import say, warn
from ranklet.corpus.sources.bundle_documents import metadata_of, whole_documents
from ranklet.export.bundles import export_bundle
from ranklet.export.errors import ExportError
from ranklet.export.learning.candidates import (
    BM25,
    CANDIDATES,
    LEAST_PAIRS,
    Candidate,
    Task,
    other_normalisers,
    trainings_by_hand,
    tuned_bm25,
)
from ranklet.export.learning.choosing import (
    NAME,
    Step,
    cheapest,
    path,
    pools_of,
    reranked,
    surely_better,
)
from ranklet.export.learning.costs import Cost, Limits, cost_of
from ranklet.export.learning.joining import joined, needed_files, reduced
from ranklet.export.learning.judgements import read_judgements
from ranklet.export.learning.parts import FEW, Parts, cut
from ranklet.export.learning.result import Learned, Row
from ranklet.export.learning.work import Work, kept_work
from ranklet.export.options import ExportOptions
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import InputError, RankletError
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.pipeline import Keep, Pipeline, Rescore
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.storage.address import BundleLike, on_disk, writable
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import model_name
from ranklet.training.imported.hub import model_folder
from ranklet.version import __version__

CHOOSING_SHARE = 0.25  # of the time, for scoring, choosing, measuring and reporting
DEFAULT = "the input, as it is"
SAME = 1.1  # times the fastest variant's time, from which on another one is slower


class Stored:
    """The texts that a bundle ranks, as what can be indexed again; passages stay as they are."""

    def __init__(self, files: BundleFiles) -> None:
        self._files = files
        self.name = str(files.manifest.provenance.get("collection", {}).get("name", "documents"))
        self.splitting = files.manifest.splitting

    def documents(self) -> Iterator[Document]:
        """Yield every passage."""
        documents = self._files.need_documents()
        numbers = range(len(documents))
        for number, metadata in zip(numbers, metadata_of(self._files, numbers), strict=True):
            yield Document(*documents.record(number), metadata)


def learn(
    bundle: BundleLike,
    judged: str | Path,
    target: str | Path,
    *,
    minutes: float = 60.0,
    max_ms: float | None = None,
    max_mb: float | None = None,
    network: bool = True,
    measure: str = "MRR@10",
    model: str | Path | None = None,
    lexical: bool = False,
    overwrite: bool = False,
) -> Learned:
    """Write a bundle that searches better than another one, as far as judged queries show it.

    Args:
        bundle: any bundle with documents, on disk.
        judged: a folder of judged queries, or a table of clicks, see `read_judgements`.
        target: a folder, or a path that ends in .zip.
        minutes: of wall time that learning may take.
        max_ms: milliseconds of a query on this machine at the 95th percentile; None for any.
        max_mb: size of the bundle in 10⁶ bytes; None for any.
        network: whether a network may read queries.
        measure: what to learn for, MRR@k, nDCG@k or R@k.
        model: folder of the encoder to train; None for the one that the bundle was built with, if
            it is MiniLM-L6, or MiniLM-L6 for English texts.
        lexical: whether only rankers are learned that need no PyTorch.
        overwrite: whether a bundle at the target is replaced.

    Raises:
        InputError: there are too few judged queries, or an option is wrong.
        BundleError: the bundle cannot be read.
        ExportError: the target exists, or is not a bundle and nothing else.
    """
    if lexical and model is not None:
        raise InputError("lexical rankers have no model to train; leave out one of the two")
    began, limits = monotonic(), Limits(minutes, max_ms, max_mb, network)
    parse_measure(measure)
    check_source(source := on_disk(bundle), target)
    place = writable(target)
    check_target(place, overwrite)
    files = BundleFiles(source, check="full")
    documents = files.need_documents()
    given = read_judgements(Path(judged), documents)
    parts = cut(given.splits)
    if parts.few and len(files.manifest.rankers) == 1:
        raise InputError(
            f"{sum(parts.sizes):,} judged queries are too few to tune or train a ranker ({FEW} are "
            "needed), and the bundle has only one ranker, so there are no weights to learn; judge "
            "more queries, or build the bundle with --model"
        )
    say(_opening(parts))
    with kept_work(place, _digest(files, parts, measure, model, lexical, __version__)) as work:
        check_target(place, overwrite)  # another process may have written it meanwhile

        def left() -> float:
            return 60 * limits.minutes * (1 - CHOOSING_SHARE) - (monotonic() - began)

        task = Task(
            files, _written(work, files, parts), parts, measure, _begin(files, model), limits,
            work, left, lexical,
        )  # fmt: skip
        whole, tuned, skipped = _indexed(task)
        before, after = load(source), load(whole)
        found = _chosen(before, after, task)
        skipped |= found.skipped
        rows = _reported(before, after, parts, found, measure)
        result = Learned(
            None, rows, measure, parts.sizes, skipped, parts.seen, _said(tuned),
        )  # fmt: skip
        if found.at is not None:
            chosen = found.steps[found.at].pipeline
            provenance = {"learned": _provenance(result)}
            kept = reduced(
                after.files, place, {NAME: chosen}, NAME, provenance,
                _fastest(after, chosen, task), overwrite=overwrite,
            )  # fmt: skip
            commands = _by_hand(task, found.steps[found.at].members)
            result = replace(result, target=kept, commands=commands)
    return replace(result, minutes=(monotonic() - began) / 60)


@dataclass(frozen=True, eq=False)
class _Found:
    steps: Sequence[Step]
    costs: Sequence[Cost]
    at: int | None  # the step that is kept; None keeps the input
    skipped: dict[str, str]


def _indexed(task: Task) -> tuple[Path, Checkpoint, dict[str, str]]:
    """Return a bundle with all rankers, the tuned BM25, and why some were not learned."""
    work = task.work
    tuned = work.checkpoint(BM25, lambda: tuned_bm25(task))
    learned, skipped = {BM25: tuned}, dict[str, str]()
    if not task.parts.few and not other_normalisers(task):
        skipped["other normalisers of words"] = "reading all texts again would take too long"
    for each in CANDIDATES:
        reason = "" if work.has(each.name) else each.why_not(task)
        if not reason:
            try:
                learned[each.name] = work.checkpoint(each.name, partial(_train, each, task, tuned))
            except RankletError as error:  # such as an encoder that is too small for the kind
                warn(reason := f"{each.about} cannot be learned: {error}")
        if reason:
            skipped[each.about] = reason
    # What reads tokens of the collection is indexed together, and encoders one by one.
    together = {name: each for name, each in learned.items() if each.settings.field}
    whole = work.bundle(".".join(together), partial(_index, together, task, tuned))
    parts = [(BundleFiles(whole), list(together))]
    for name in (each for each in learned if each not in together):
        try:
            own = work.bundle(name, partial(_index, {name: learned[name]}, task, tuned))
        except ExportError as error:  # such as 8 bits that lose too much
            warn(f"{name} is left out: {error}")
            skipped[name] = str(error)
        else:
            parts.append((BundleFiles(own), [name]))
    names, reasons = _own_rankers(task, learned)
    parts.append((task.files, names))
    # Its name has all members, because a run that goes on may have time for more of them.
    name = ".".join(["all", *(name for _, names in parts for name in names)])
    return work.bundle(name, lambda to: joined(parts, to)), tuned, skipped | reasons


def _own_rankers(task: Task, learned: Mapping[str, Checkpoint]) -> tuple[list[str], dict[str, str]]:
    """Return which rankers of the input are taken as they are, and why not the others."""
    names, skipped = [], {}
    for name, entry in task.files.manifest.rankers.items():
        if entry.kind == BM25:
            continue
        if entry.read_settings(name).field:
            skipped[name] = "it counts words, so train it again with the new BM25"
        elif name in learned:
            skipped[name] = "a ranker that was learned has its name"
        else:
            names.append(name)
    return names, skipped


def _train(candidate: Candidate, task: Task, tuned: Checkpoint) -> Checkpoint:
    say(f"learning {candidate.about}")
    return candidate.train(task, tuned)


def _index(
    checkpoints: Mapping[str, Checkpoint], task: Task, tuned: Checkpoint, target: Path
) -> None:
    rankers = target.with_name(f"{target.name}.rankers")
    networks = {each.name for each in CANDIDATES if each.network}
    options = ExportOptions(variants=_variants() if networks & set(checkpoints) else ("int8",))
    export_bundle(checkpoints, rankers, options, overwrite=True)
    words, alone = tuned.words or task.words, FusionOptions(weights={next(iter(checkpoints)): 1.0})
    index_bundle(
        rankers, Stored(task.files), target, titles=task.titles, words=words, fusion=alone,
        overwrite=True,
    )  # fmt: skip


def _variants() -> tuple[str, ...]:
    """Return the variants of a network among which the time of queries decides."""
    try:
        return ExportOptions(variants=("fp32", "int8", "openvino")).variants
    except InputError:  # its packages are not installed
        return "fp32", "int8"


def _chosen(before: Bundle, after: Bundle, task: Task) -> _Found:
    queries, limits, measure = task.parts.choose, task.limits, task.measure
    rankers = after.manifest.rankers
    names, skipped = list(rankers), {}
    # A table serves where the provider is numpy.
    networks = [
        name for name in names if ranker_of(after.files, name).provider not in ("", "numpy")
    ]
    if not limits.network:
        skipped = dict.fromkeys(networks, "a network would read each query (--no-network)")
        names = [name for name in names if name not in networks]
    last = [name for name in rerankers(rankers) if name in names]
    names = [name for name in names if name not in last]
    pools = pools_of(after, queries, names)
    steps = path(after, queries, pools, [BM25], names[1:], networks, measure)
    costs = [cost_of(after.files, queries, each.pipeline) for each in steps]
    for name in last:
        depth = _depth(after, task, steps[-1], name, costs[-1])
        if depth < LEAST_PAIRS:
            skipped[name] = f"it would read fewer than {LEAST_PAIRS} documents within --max-ms"
            continue
        step, base = reranked(after, queries, steps[-1], name, measure, depth)
        if surely_better(step.values, base):
            steps.append(step)
            costs.append(cost_of(after.files, queries, step.pipeline))
    for name in (*names, *last):
        if name not in steps[-1].members:
            why = "it gained no more than one standard error on the queries to choose on"
            skipped.setdefault(name, why)
    fits = [place for place, cost in enumerate(costs) if cost.within(limits)]
    for place in set(range(len(steps))) - set(fits):
        skipped[" + ".join(steps[place].members)] = f"it takes {costs[place]}"
    if not fits:
        return _Found(steps, costs, None, skipped)
    at = fits[cheapest([steps[place] for place in fits])]
    (base_,) = evaluate(before, queries, {DEFAULT: None}, measures=[measure], depth=100)
    better = surely_better(steps[at].values, base_.values[measure])
    return _Found(steps, costs, at if better else None, skipped)


def _depth(bundle: Bundle, task: Task, step: Step, name: str, cost: Cost) -> int:
    """Return how many documents a ranker of pairs has time to read after a step."""
    if task.limits.max_ms is None:
        return RERANKED
    few = Pipeline((*step.pipeline.stages, Keep(LEAST_PAIRS), Rescore(name)))
    pair = (cost_of(bundle.files, task.parts.choose, few).p95 - cost.p95) / LEAST_PAIRS
    return min(RERANKED, int(0.9 * (task.limits.max_ms - cost.p95) / max(pair, 1e-3)))


def _fastest(bundle: Bundle, pipeline: Pipeline, task: Task) -> str:
    """Return the variant of the networks that answers fastest; a smaller one if it is as fast."""
    files = [name.rpartition("/")[2] for name in needed_files(bundle.files, pipeline.rankers(), "")]
    variants = [name for name, file in VARIANTS.items() if file in files]
    if len(variants) < 2:
        return "int8"
    costs = {}
    for variant in variants:
        place = task.work.folder / f"{variant}.ranklet"
        reduced(bundle.files, place, {NAME: pipeline}, NAME, {}, variant, overwrite=True)
        costs[variant] = cost_of(BundleFiles(place), task.parts.choose, NAME)
    fits = [name for name in variants if costs[name].within(task.limits)] or variants
    fastest = min(costs[name].p50 for name in fits)
    near = [name for name in fits if costs[name].p50 <= SAME * fastest]
    return min(near, key=lambda name: costs[name].mb)


def _reported(
    before: Bundle, after: Bundle, parts: Parts, found: _Found, measure: str
) -> list[Row]:
    """Rank the queries to report on, which nothing has read before."""
    (base,) = evaluate(before, parts.report, {DEFAULT: None}, measures=[measure], depth=100)
    rows = [Row(DEFAULT, base.values[measure], cost_of(before.files, parts.choose, None))]
    last = len(found.steps) if found.at is None else found.at + 1
    pipelines = {_name(each): each.pipeline for each in found.steps[:last]}
    values = evaluate(after, parts.report, pipelines, measures=[measure], depth=100)
    for place, each in enumerate(values):
        cost = found.costs[place]
        rows.append(Row(each.pipeline, each.values[measure], cost, kept=place == found.at))
    return rows


def _name(step: Step) -> str:
    pairs = zip(step.weights, step.members, strict=True)
    return " + ".join(f"{weight:.2g} · {name}" for weight, name in pairs)


def _begin(files: BundleFiles, model: str | Path | None) -> Path | None:
    """Return the folder of the encoder to train, or None if it is not known."""
    from ranklet.training.pretrained.backbone import wheel_folder

    if model is not None:
        folder = model_folder(model)
        if not folder.is_dir():
            raise InputError(f"--model {str(model)!r} is no folder")
        return folder
    try:
        usual = wheel_folder()
    except InputError:
        return None
    checkpoints = files.manifest.provenance.get("checkpoints", {})
    names = [
        each["imported"]
        for each in checkpoints.values()
        if isinstance(each, Mapping) and isinstance(each.get("imported"), str)
    ]
    if names:
        return usual if model_name(usual) in names else None
    return usual if files.manifest.languages == ("en",) else None


def _by_hand(task: Task, members: Sequence[str]) -> list[str]:
    """Return commands that make about the same bundle."""
    names = [name if task.work.has(name) else f"{name}=MODEL_FOLDER" for name in members]
    titles = "" if task.titles else " --no-titles"
    return [
        *trainings_by_hand(task, members),
        f"ranklet export {' '.join(names)} -o rankers.ranklet --variants int8",
        f"ranklet index rankers.ranklet JUDGED -o indexed.ranklet{titles}",
        f"ranklet fuse indexed.ranklet JUDGED -o better.ranklet --measure {task.measure} --rankers "
        f"{','.join(members)}",
    ]


def _written(work: Work, files: BundleFiles, parts: Parts) -> Collection:
    """Return the documents, whole, with the queries that are learned from and tuned on."""
    splits = {"train": parts.learn, "dev": parts.tune}
    return work.collection(lambda: whole_documents(files), splits)


def _digest(files: BundleFiles, parts: Parts, *more: object) -> str:
    told = [
        sorted((name, entry.sha256) for name, entry in files.manifest.files.items()),
        [[list(each) for each in part] for part in parts[:4]],
        [str(each) for each in more],
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _opening(parts: Parts) -> str:
    learn, tune, choose, report = map(len, parts[:4])
    use = f"{choose:,} to choose on, {report:,} to report on"
    if parts.few:
        return (
            f"{use}: too few to tune or train a ranker (fewer than {FEW}), so only the weights of "
            "the bundle's rankers are learned, by cross-validation"
        )
    return f"{learn + tune:,} queries to learn from, {use}"


def _said(tuned: Checkpoint) -> str:
    settings = tuned.settings
    return (
        f"k1 {settings.k1:g}, b {settings.b:g}, title boost {settings.title_boost:g}, "
        f"{tuned.normaliser or 'words'}"
    )


def _provenance(result: Learned) -> dict[str, Any]:
    return {
        "measure": result.measure,
        "queries": dict(zip(("learn", "tune", "choose", "report"), result.parts, strict=True)),
        "rows": [
            {"pipeline": row.name, "value": round(float(np.mean(row.values)), 6)}
            for row in result.rows
        ],
        "skipped": dict(result.skipped),
        "bm25": result.bm25,
    }
