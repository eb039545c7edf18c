"""Turn judged queries into a better search: learn rankers, choose among them, and report once."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

from ranklet.corpus.building.writer import check_source, check_target
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.corpus.progress import say
from ranklet.corpus.sources.bundle_documents import whole_documents
from ranklet.export.learning.budget import Budget, OutOfBudgetError
from ranklet.export.learning.calibrate import LEAST, Refit, refit
from ranklet.export.learning.candidates import BM25, Task, own_bm25
from ranklet.export.learning.choosing import NAME, Step
from ranklet.export.learning.costs import Cost, cost_of
from ranklet.export.learning.joining import write_reduced
from ranklet.export.learning.judgements import read_judgements
from ranklet.export.learning.options import LEARN, LearnOptions
from ranklet.export.learning.parts import FEW, Parts, cut_parts, fitting, some
from ranklet.export.learning.rankers import learn_rankers
from ranklet.export.learning.result import Learned, Row, provenance_of
from ranklet.export.learning.selection import WEIGHING, Selected, base_of, select, signals_of
from ranklet.export.learning.signals import at_the_clock
from ranklet.export.learning.tables import with_tables
from ranklet.export.learning.work import Work, kept_work
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import InputError
from ranklet.runtime.memory import forget_peak, peak_bytes
from ranklet.runtime.short_tracebacks import short_tracebacks
from ranklet.runtime.storage.address import BundleLike, on_disk, writable
from ranklet.training.imported.folder import model_name
from ranklet.training.imported.hub import model_folder
from ranklet.version import __version__

INDEX_SECONDS = 0.003  # per passage, of all that counts words, after the trainings
WARM, TIMED = 5, 20  # queries that are not timed, and those by which the time of one is known
CALIBRATING = 300  # queries, of which a hundred are enough
_TOO_FEW = f"{LEAST} queries that no ranker has learned from, and time to rank them, are needed"
SAFETY = 1.25  # times that time, because other work may come


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

    Nothing is written unless the 95 % interval of the gain on the reported queries is above 0.

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
    if not training and len(files.manifest.rankers) == 1 and not signals_of(before, options):
        raise InputError(_nothing_to_weigh(parts, options))
    say(_opening(parts, options, budget))
    cost = cost_of(before.files, parts.choose, base_of(before, options)[1])
    budget.measured = 2 * (monotonic() - began)  # of the pipeline that is kept, and its writing
    budget.reserve(budget.measured + _seconds_later(before, parts))
    budget.indexing = INDEX_SECONDS * before.manifest.documents
    with kept_work(place, _digest(files, parts, options)) as work:
        check_target(place, overwrite)  # another process may have written it meanwhile
        splits = {"train": parts.learn, "dev": parts.tune}
        columns = own_bm25(files).columns
        collection = work.collection(lambda: whole_documents(files, columns), splits)
        begin, able = _begin(files, options), with_tables(files, parts, options, work, budget)
        task = Task(able, collection, parts, options, begin, work, budget)
        after, skipped = _rankers(task) if training else (Path(str(able.path)), {})
        result = _choose(before, cost, load(after), task, skipped, place, overwrite)
    return replace(result, minutes=budget.minutes, memory=peak_bytes())


def _rankers(task: Task) -> tuple[Path, dict[str, str]]:
    """Return a bundle with all rankers, which is the input if there is no time for more."""
    try:
        return learn_rankers(task)
    except OutOfBudgetError as error:
        reason = f"{error}, so only weights are learned; give more --minutes"
        say(f"without a tuned BM25 and new rankers: {reason}")
        return Path(str(task.files.path)), {"a tuned BM25 and new rankers": reason}


def _choose(
    before: Bundle, cost: Cost, after: Bundle, task: Task, skipped: Mapping[str, str],
    place: Path, overwrite: bool,
) -> Learned:  # fmt: skip
    """Choose a pipeline, report on it, and write it if its gain is sure."""
    options, work = task.options, task.work
    each, measured = _seconds_of_query(after, task.parts), task.budget.measured
    passes = int(task.budget.left(measured) / each)
    parts = fitting(task.parts, passes)
    if parts is not task.parts:
        say(f"there is time for {_ranked(parts)} only")
    more = max(0, min(WEIGHING, passes - 2 * sum(parts.sizes[2:])))
    later = measured + 2 * each * len(parts.report)
    fits = partial(task.budget.fits, reserved=later)
    found = select(before, after, parts, options, more, fits)
    rows = _report(before, cost, after, parts, task, found)
    told = {**skipped, **found.skipped}
    bm25 = _said(work) if work.has(BM25) else ""
    result = Learned(
        None, rows, options.measure, parts.sizes, told, parts.seen, bm25, why=_why_not(found)
    )
    if found.at is None or result.kept is None:
        return result
    gain = result.gain(result.kept)
    if gain.low <= 0:
        return replace(result, why=f"a gain of {gain} on the reported queries is not sure")
    step = found.steps[found.at]
    relevance = _relevance(after, step, task, max(each, result.kept.cost.p95 / 1e3))
    if relevance is None:
        result = replace(result, skipped={**told, "relevance of its own": _TOO_FEW})
    provenance = {"learned": provenance_of(result)}
    kept = write_reduced(
        after.files,
        place,
        {NAME: at_the_clock(step.pipeline)},
        NAME,
        provenance,
        () if relevance is None else (relevance.calibration,),
        overwrite=overwrite,
    )
    return replace(result, target=kept, relevance=relevance)


def _relevance(bundle: Bundle, step: Step, task: Task, seconds: float) -> Refit | None:
    """Return how likely the pipeline's hits answer a query, by queries that no ranker has read.

    None if there are too few of them, or no time. A query takes some seconds.
    """
    parts, left = task.parts, task.budget.left(task.budget.measured)
    queries = [*[*parts.report, *parts.choose][:CALIBRATING], *parts.unanswered[:CALIBRATING]]
    queries = some(queries, max(0, int(left / (2 * seconds))))  # most are ranked twice
    return refit(bundle, queries, step.pipeline) if len(queries) >= LEAST else None


def _report(
    before: Bundle, cost: Cost, after: Bundle, parts: Parts, task: Task, found: Selected
) -> list[Row]:
    """Rank the queries to report on, which nothing has read before, as long as there is time.

    The input and the pipeline that is kept are always ranked.
    """
    measure, queries, choose = task.options.measure, parts.report, parts.choose
    began = monotonic()
    name, pipeline = base_of(before, task.options)
    (base,) = evaluate(before, queries, {name: pipeline}, measures=[measure], depth=100)
    first = Row(name, base.values[measure], cost)
    last = len(found.steps) - 1 if found.at is None else found.at
    rows = dict[int, Row]()
    for place in sorted(range(last + 1), key=lambda place: place != last):  # the last one first
        if rows and task.budget.left(0) < 2 * (monotonic() - began) / len(rows):
            break
        step = found.steps[place]
        (own,) = evaluate(after, queries, {NAME: step.pipeline}, measures=[measure], depth=100)
        own_cost = found.costs[place] or cost_of(after.files, choose, step.pipeline)
        rows[place] = Row(_name(step), own.values[measure], own_cost, kept=place == found.at)
    return [first, *(rows[place] for place in sorted(rows))]


def _why_not(found: Selected) -> str:
    if found.at is not None:
        return ""
    if all("it takes" in found.skipped.get(" + ".join(each.members), "") for each in found.steps):
        return "no pipeline is within the limits"
    return "nothing was sure to gain on the queries to choose on"


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


def _seconds_later(bundle: Bundle, parts: Parts) -> float:
    """Return about how long it takes to choose and to report."""
    learn_, tune, choose, report = parts.sizes
    passes = min(WEIGHING, learn_ + tune) + 2 * (choose + report)
    return passes * _seconds_of_query(bundle, parts)


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
