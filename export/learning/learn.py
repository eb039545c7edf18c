"""Turn judged queries into a better search: learn rankers, choose among them, and report once."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np

from ranklet.corpus.building.writer import check_source, check_target
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.corpus.progress import say
from ranklet.corpus.sources.bundle_documents import whole_documents
from ranklet.export.learning.bundles import write_reduced
from ranklet.export.learning.calibrate import LEAST, Refit, refit
from ranklet.export.learning.candidates import BM25, Task, read_bm25
from ranklet.export.learning.choosing import Choice, Selected, find_base, find_signals, select
from ranklet.export.learning.judgements import read_judgements
from ranklet.export.learning.limits import Budget, Cost, OutOfBudgetError, measure_cost
from ranklet.export.learning.options import LEARN, LearnOptions
from ranklet.export.learning.parts import FEW, Parts, count_passes, cut_parts, fit_parts
from ranklet.export.learning.result import Learned, Row, provenance_of
from ranklet.export.learning.training import UNTUNED, learn_rankers, with_tables
from ranklet.export.learning.weighing import Step, Values, at_the_clock
from ranklet.export.learning.work import Work, kept_work
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import InputError
from ranklet.runtime.memory import forget_peak, peak_bytes
from ranklet.runtime.pipeline import Pipeline
from ranklet.runtime.short_tracebacks import short_tracebacks
from ranklet.runtime.storage.address import BundleLike, on_disk, writable
from ranklet.training.imported.folder import model_name
from ranklet.training.imported.hub import model_folder
from ranklet.version import __version__

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
        raise InputError(_nothing_to_weigh(parts, options))
    say(_opening(parts, options, budget))
    cost = measure_cost(before.files, parts.choose, find_base(before, options)[1])
    budget.measured = 2 * (monotonic() - began)  # of the pipeline that is kept, and its writing
    budget.reserve(budget.measured + count_passes(parts) * _seconds_of_query(before, parts))
    budget.indexing = INDEX_SECONDS * before.manifest.documents
    with kept_work(place, _digest(files, parts, options)) as work:
        check_target(place, overwrite)  # another process may have written it meanwhile
        splits = {"train": parts.learn, "dev": parts.tune}
        own = read_bm25(files)
        columns = () if own is None else own.columns
        collection = work.collection(lambda: whole_documents(files, columns), splits)
        begin, able = _begin(files, options), with_tables(files, parts, options, work, budget)
        task = Task(able, collection, parts, options, begin, work, budget)
        made, skipped = _rankers(task) if training else (None, {})
        result = _Choosing(before, cost, task, place, overwrite).run(made, skipped)
    return replace(result, minutes=budget.minutes, memory=peak_bytes())


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
        place: where the bundle is written to.
        overwrite: whether a bundle there is replaced.
    """

    def __init__(
        self, before: Bundle, cost: Cost, task: Task, place: Path, overwrite: bool
    ) -> None:
        self._before, self._cost, self._task = before, cost, task
        self._place, self._overwrite = place, overwrite
        self._name, self._base = find_base(before, task.options)

    def run(self, made: Path | None, skipped: Mapping[str, str]) -> Learned:
        """Return what was learned, given the bundle with all rankers, if there is one."""
        task, options, measured = self._task, self._task.options, self._task.budget.measured
        own = load(Path(str(task.files.path)))
        after = own if made is None else load(made)
        each = _seconds_of_query(after, task.parts)
        parts, more = fit_parts(task.parts, task.budget.left(measured) / each)
        if parts.sizes != task.parts.sizes:
            say(f"there is time for {_ranked(parts)} only")
        fits = partial(task.budget.fits, reserved=measured + 2 * each * len(parts.report))
        signals = find_signals(self._before, options)
        selected = select(own, after, parts, options, signals, more, fits)
        rows = self._prove(parts, selected)
        tuned = _said(task.work) if task.work.has(BM25) else ""
        told = {**skipped, **selected.skipped}
        ordered = [rows[place] for place in sorted(rows)]
        result = Learned(
            None, ordered, options.measure, parts.sizes, told, parts.seen, tuned,
            why="" if selected.found else _why_nothing(selected),
        )  # fmt: skip
        kept = next((place for place in rows if rows[place].kept), None)
        if kept is None:
            return result
        if (gain := rows[kept].gain).low <= 0:
            count = len(rows[kept].values)
            return replace(result, why=f"a gain of {gain} on {count:,} queries is not sure")
        return self._write(selected.found[kept], result, max(each, rows[kept].cost.p95 / 1e3))

    def _write(self, chosen: Choice, result: Learned, seconds: float) -> Learned:
        """Write the pipeline that was chosen. A query takes it some seconds."""
        pipeline = chosen.step.pipeline
        relevance = self._relevance(chosen.bundle, pipeline, seconds)
        if relevance is None:
            result = replace(result, skipped={**result.skipped, "relevance of its own": _TOO_FEW})
        target = write_reduced(
            chosen.bundle.files,
            self._place,
            {NAME: at_the_clock(pipeline)},
            NAME,
            {"learned": provenance_of(result)},
            () if relevance is None else (relevance.calibration,),
            called={UNTUNED: BM25} if UNTUNED in pipeline.rankers else None,
            overwrite=self._overwrite,
        )
        return replace(result, target=target, relevance=relevance)

    def _relevance(self, bundle: Bundle, pipeline: Pipeline, seconds: float) -> Refit | None:
        """Return how likely its hits answer a query, by queries that no ranker has read.

        None if there are too few of them, or no time.
        """
        budget, parts = self._task.budget, self._task.parts
        queries = [*parts.report, *parts.choose][:CALIBRATING]
        queries = queries[: int(budget.left(budget.measured) / seconds)]
        return refit(bundle, queries, pipeline) if len(queries) >= LEAST else None

    def _prove(self, parts: Parts, selected: Selected) -> dict[int, Row]:
        """Return the rows by the place of what was selected; the input has −1.

        What may be kept is ranked first, until one surely gains, and then the others on the way to
        it as long as there is time. Nothing has read the reported queries before.
        """
        found, choose, report = selected.found, len(parts.choose), parts.report
        whole = np.empty(0)
        if any(each.proven for each in found):
            whole = self._values(self._before, selected.everyone, self._base)
            base = whole[choose : choose + len(report)]
        else:
            base = self._values(self._before, report, self._base)
        rows, sure = {-1: Row(self._name, base, base, self._cost)}, list[int]()
        for place in selected.tried:
            rows[place] = self._row(found[place], parts, whole, base)
            if rows[place].gain.low > 0:
                sure = [place]
                break
        for kept in (*sure, *selected.tried)[:1]:
            rows[kept] = replace(rows[kept], kept=True)
        began, ranked = monotonic(), 0
        for place in range(len(found)):
            left = self._task.budget.left(0)
            if place not in rows and left > 2 * (monotonic() - began) / max(1, ranked):
                rows[place] = self._row(found[place], parts, whole, base)
                ranked += 1
        return rows

    def _row(self, choice: Choice, parts: Parts, whole: Values, base: Values) -> Row:
        """Return what a pipeline gains; the input has `whole` on all queries, and `base`."""
        step, files = choice.step, choice.bundle.files
        values, own = step.values, whole
        if not choice.proven:
            values, own = self._values(choice.bundle, parts.report, step.pipeline), base
        cost = choice.cost or measure_cost(files, parts.choose, step.pipeline)
        return Row(_name(step), values, own, cost)

    def _values(
        self, bundle: Bundle, queries: Sequence[JudgedQuery], pipeline: Pipeline | None
    ) -> Values:
        measure = self._task.options.measure
        (found,) = evaluate(bundle, queries, {NAME: pipeline}, measures=[measure], depth=100)
        return found.values[measure]


def _why_nothing(selected: Selected) -> str:
    if any(why.startswith("it takes") for why in selected.skipped.values()):
        return "no pipeline is within the limits"
    return "there is only one ranker, so there are no weights to learn"


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
    learn_, tune, *_ = parts.sizes
    cost = f"within {options.minutes:g} minutes and {budget.memory / 1e9:.1f} GB of memory"
    use = f"{_ranked(parts)}, {cost}"
    if parts.few:
        return (
            f"{use}; they are too few to tune or train a ranker (fewer than {FEW}), so only the "
            "weights of the bundle's rankers are learned, by cross-validation"
        )
    return f"{learn_ + tune:,} queries to learn from, {use}"


def _ranked(parts: Parts) -> str:
    return f"{len(parts.choose):,} queries to choose on and {len(parts.report):,} to report on"


def _nothing_to_weigh(parts: Parts, options: LearnOptions) -> str:
    few = f"{sum(parts.sizes):,} judged queries are too few to tune or train a ranker ({FEW} are "
    why, more = f"{few}needed)", "judge more queries"
    if not options.training:
        why, more = "--no-training learns weights only", "leave it out"
    return (
        f"{why}, and the bundle has only one ranker, so there are no weights to learn; {more}, or "
        "build the bundle with --model"
    )


def _said(work: Work) -> str:
    tuned = work.made(BM25)
    settings = tuned.settings
    weights = "".join(f"{name} {each:g}, " for name, each in (settings.fields or {}).items())
    return (
        f"k1 {settings.k1:g}, b {settings.b:g}, title boost {settings.title_boost:g}, {weights}"
        f"{tuned.normaliser or 'words'}"
    )
