"""Turn judged queries into a better search: learn rankers, choose among them, and report once."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

from ranklet.corpus.building.writer import check_source, check_target
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.corpus.progress import say
from ranklet.corpus.sources.bundle_documents import whole_documents
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.memory import forget_peak, peak_bytes
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.pipelines.pipeline import Pipeline
from ranklet.runtime.storage.address import BundleLike, on_disk, writable
from ranklet.training.imported.folder import model_name
from ranklet.training.imported.hub import model_folder
from ranklet.version import __version__
from ranklet.workflows.learn.bundles import write_reduced
from ranklet.workflows.learn.calibrate import LEAST, refit
from ranklet.workflows.learn.candidates import BM25, Task, read_bm25
from ranklet.workflows.learn.choosing import Selected, find_base, find_signals, select
from ranklet.workflows.learn.judgements import read_judgements
from ranklet.workflows.learn.limits import Budget, Cost, OutOfBudgetError, measure_cost
from ranklet.workflows.learn.options import LEARN, LearnOptions
from ranklet.workflows.learn.parts import FEW, Parts, count_passes, cut_parts, fit_parts, some
from ranklet.workflows.learn.result import Learned, Row, describe_provenance
from ranklet.workflows.learn.training import UNTUNED, learn_rankers, with_tables
from ranklet.workflows.learn.weighing import Step, Values, at_the_clock
from ranklet.workflows.learn.work import keep_work

NAME = "learned"  # of the pipeline
INDEX_SECONDS = 0.003  # per passage, of all that counts words, after the trainings
WARM, TIMED = 5, 20  # queries that are not timed, and those by which the time of one is known
CALIBRATING = 300  # queries, of which a hundred are enough
SAFETY = 1.25  # times that time, because other work may come
_TOO_FEW = f"{LEAST} queries that no ranker has learned from, and time to rank them, are needed"


@short_tracebacks
def learn(
    bundle: BundleLike,
    judged: str | Path,
    target: str | Path,
    options: LearnOptions = LEARN,
    *,
    overwrite: bool = False,
) -> Learned:
    """Write a bundle that searches better than another one, if judged queries are sure of it.

    Nothing is written unless the 95 % interval of the gain is above 0, on the reported queries or,
    for weights of rankers that learned nothing, on all of them by cross-validation.

    Args:
        bundle: any bundle with documents, on disk.
        judged: a folder of judged queries, or a table of clicks, see `read_judgements`.
        target: a folder, or a path that ends in .zip.
        options: what the search and its learning may cost.
        overwrite: whether a bundle at the target is replaced.

    Raises:
        InputError: there are too few judged queries, or an option is wrong.
        BundleError: the bundle cannot be read.
        BuildError: the target exists, or is not a bundle and nothing else.
    """
    budget = Budget(options.minutes)
    forget_peak()
    check_source(source := on_disk(bundle), target)
    check_target(place := writable(target), overwrite)
    files = BundleFiles(source, check="full")
    refuse_additions(files)
    parts = cut_parts(read_judgements(Path(judged), files.need_documents()))
    training = options.training and not parts.few
    before, began = load(source), monotonic()
    if not training and len(files.manifest.rankers) == 1 and not find_signals(before, options):
        raise InputError(
            "the bundle has only one ranker, so there are no weights to learn, and nothing is "
            f"trained with --no-training or by {sum(parts.sizes):,} judged queries, where {FEW} "
            "are needed; judge more queries, or build the bundle with --model"
        )
    say(_opening(parts, options, budget))
    cost = measure_cost(before.files, parts.choose, find_base(before, options)[1])
    budget.measured = 2 * (monotonic() - began)  # of the pipeline that is kept, and its writing
    budget.reserve(budget.measured + count_passes(parts) * _seconds_of_query(before, parts))
    budget.indexing = INDEX_SECONDS * before.manifest.documents
    with keep_work(place, _digest(files, parts, options)) as work:
        check_target(place, overwrite)  # another process may have written it meanwhile
        splits = {"train": parts.learn, "dev": parts.tune}
        own = read_bm25(files)
        columns = () if own is None else own.columns
        collection = work.collection(lambda: whole_documents(files, columns), splits)
        begin, able = _begin(files, options), with_tables(files, parts, options, work, budget)
        task = Task(able, collection, parts, options, begin, work, budget)
        made, untrained = _rankers(task) if training else (None, {})
        result = _Choosing(before, cost, task).run(made, place, overwrite=overwrite)
    return replace(result, untrained=untrained, minutes=budget.minutes, memory=peak_bytes())


def _rankers(task: Task) -> tuple[Path | None, dict[str, str]]:
    """Return a bundle with all rankers, or None if there is no time for more."""
    try:
        return learn_rankers(task)
    except OutOfBudgetError as error:
        reason = f"{error}, so only weights are learned; give more --minutes"
        say(f"without a tuned BM25 and new rankers: {reason}")
        return None, {"a tuned BM25 and new rankers": reason}


class _Choosing:
    """Chooses a pipeline, proves it, and writes it if its gain is sure.

    Args:
        before: the input.
        cost: of its pipeline.
        task: what was learned from.
    """

    def __init__(self, before: Bundle, cost: Cost, task: Task) -> None:
        self._before, self._cost, self._task = before, cost, task
        self._name, self._base = find_base(before, task.options)

    def run(self, made: Path | None, place: Path, *, overwrite: bool) -> Learned:
        """Return what was learned, given the bundle with all rankers, if there is one.

        A bundle that is sure to gain is written to a place.
        """
        options, budget = self._task.options, self._task.budget
        own = load(self._task.files.path)
        after = own if made is None else load(made)
        each = _seconds_of_query(after, self._task.parts)
        parts, more = fit_parts(self._task.parts, budget.left(budget.measured) / each)
        if parts.sizes != self._task.parts.sizes:
            say(f"there is time for {_ranked(parts)} only")
        later = more + len(parts.choose) + 2 * len(parts.report)
        fits = partial(budget.fits, reserved=budget.measured + each * later)
        selected = select(own, after, parts, options, more, fits)
        rows = self._prove(after, parts, selected)
        shown = [rows[at] for at in sorted(rows)]
        skipped = selected.skipped
        result = Learned(None, shown, options.measure, parts.sizes, skipped, seen=parts.seen)
        kept = next((at for at in rows if rows[at].kept), None)
        if kept is None:
            limited = any(why.startswith("it takes") for why in skipped.values())
            why = "no pipeline is within the limits"
            return replace(result, why=why if limited else "one ranker has no weights to learn")
        if (gain := rows[kept].gain).low <= 0:
            count = len(rows[kept].values)
            return replace(result, why=f"a gain of {gain} on {count:,} queries is not sure")
        pipeline = selected.steps[kept].pipeline
        own_parts, seconds = self._task.parts, max(each, rows[kept].cost.p95 / 1e3)
        queries = [*own_parts.report, *own_parts.choose][:CALIBRATING]
        queries += own_parts.unanswered[:CALIBRATING]
        passes = int(budget.left(budget.measured) / (2 * seconds))  # most are ranked twice
        queries = some(queries, max(0, passes))
        relevance = refit(after, queries, pipeline) if len(queries) >= LEAST else None
        if relevance is None:
            result = replace(result, skipped={**skipped, "relevance of its own": _TOO_FEW})
        target = write_reduced(
            after.files,
            place,
            {NAME: at_the_clock(pipeline)},
            NAME,
            {"learned": describe_provenance(result)},
            () if relevance is None else (relevance.calibration,),
            called={UNTUNED: BM25} if UNTUNED in pipeline.rankers else None,
            overwrite=overwrite,
        )
        return replace(result, target=target, relevance=relevance)

    def _prove(self, after: Bundle, parts: Parts, selected: Selected) -> dict[int, Row]:
        """Return the rows by the place of what was selected; the input has −1.

        What may be kept is ranked first, until one surely gains, and then the others on the way to
        it as long as there is time. Nothing has read the reported queries before.
        """
        steps, everyone, report = selected.steps, selected.everyone, parts.report
        proven = any(len(step.values) == len(everyone) for step in steps)
        whole = self._values(self._before, everyone if proven else report, self._base)
        base = whole[-len(report) :]
        rows, kept, began = {-1: Row(self._name, base, base, self._cost)}, -1, monotonic()
        others = [at for at in range(len(steps)) if at not in selected.tried]
        for at in (*selected.tried, *others):
            seconds = (monotonic() - began) / len(rows)
            if (at in others or kept >= 0) and self._task.budget.left(0) < 2 * seconds:
                continue
            step, values, own = steps[at], steps[at].values, whole
            if len(values) < len(everyone):
                values, own = self._values(after, report, step.pipeline), base
            cost = selected.costs[at] or measure_cost(after.files, parts.choose, step.pipeline)
            rows[at] = Row(_name(step), values, own, cost)
            kept = at if kept < 0 and at not in others and rows[at].gain.low > 0 else kept
        if steps:
            kept = selected.tried[0] if kept < 0 else kept
            rows[kept] = replace(rows[kept], kept=True)
        return rows

    def _values(
        self, bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: Pipeline | None
    ) -> Values:
        measure = self._task.options.measure
        (found,) = evaluate(bundle, queries, {NAME: pipeline}, measures=[measure], depth=100)
        return found.values[measure]


def _name(step: Step) -> str:
    pairs = zip(step.weights, step.members, strict=True)
    return " + ".join(f"{weight:.2g} · {name}" for weight, name in pairs)


def _begin(files: BundleFiles, options: LearnOptions) -> Path | None:
    """Return the folder of the encoder to train, or None if it is not known."""
    from ranklet.training.pretrained.backbone import wheel_folder

    if options.model is not None:
        folder = model_folder(options.model)
        if not folder.is_dir():
            raise InputError(f"--model {str(options.model)!r} is no folder")
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


def _seconds_of_query(bundle: Bundle, parts: Parts) -> float:
    """Return about how long a query takes, with its measures."""
    queries = parts.choose[: WARM + TIMED]
    for query in queries[:WARM]:
        bundle.rank(query.text, k=100)  # which opens what it needs
    began = monotonic()
    for query in queries[WARM:]:
        bundle.rank(query.text, k=100)
    return SAFETY * (monotonic() - began) / len(queries[WARM:])


def _digest(files: BundleFiles, parts: Parts, options: LearnOptions) -> str:
    told = [
        sorted((name, entry.sha256) for name, entry in files.manifest.files.items()),
        [[list(each) for each in part] for part in parts[:4]],
        [str(options.measure), str(options.model), options.lexical, options.training, __version__],
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _opening(parts: Parts, options: LearnOptions, budget: Budget) -> str:
    few = f" (fewer than {FEW} of all: only weights are learned)" if parts.few else ""
    return (
        f"{len(parts.learn) + len(parts.tune):,} queries to learn from{few}, {_ranked(parts)}, "
        f"within {options.minutes:g} minutes and {budget.memory / 1e9:.1f} GB of memory"
    )


def _ranked(parts: Parts) -> str:
    return f"{len(parts.choose):,} queries to choose on and {len(parts.report):,} to report on"
