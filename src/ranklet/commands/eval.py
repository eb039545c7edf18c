"""Evaluate a bundle's pipelines on the judged queries of a collection.

The exit status is 3 if the condition of --fail-if holds.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import say, show, show_json
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Checked,
    integer,
    place,
    read_from,
    read_names,
    switch,
    text,
)

if TYPE_CHECKING:
    from ranklet.corpus.collections.splits import JudgedQuery
    from ranklet.corpus.evaluation.systems import Evaluation, Watcher
    from ranklet.corpus.judgements.judgements import JudgementCheck
    from ranklet.runtime import Bundle
    from ranklet.runtime.pipelines.pipeline import PipelineLike

FAILED = 3  # exit status
CHANGED = 5  # queries that lost or gained most, which are printed


@dataclass(frozen=True, kw_only=True)
class EvalOptions(Checked):
    """What is measured, on which queries, and next to what."""

    GROUP = "options"

    split: str = text("test", "split with the judged queries")
    max_queries: int | None = integer(
        None, "maximum number of queries, drawn at random (default: all)", 1
    )
    pipelines: Sequence[str] = read_from(
        (),
        "comma-separated pipelines, of which the first is the baseline (default: all)",
        read_names,
    )
    measures: Sequence[str] = read_from(
        ("MRR@10", "nDCG@10", "R@100"),
        "comma-separated names of measures: nDCG, MRR, AP, R, P, Success, each @k (default "
        "MRR@10,nDCG@10,R@100)",
        read_names,
    )
    depth: int = integer(1000, "documents to rank per query", 1)
    consistency: int | None = integer(
        None, "also print the share of each system's top N that is in the baseline's top 1,000, by "
        "default not", 1
    )  # fmt: skip
    baseline: Path | None = place(
        "a TREC run of any system, which --runs wrote before, to compare the pipelines with"
    )
    fail_if: str | None = text(
        None, 'exit with status 3 if a pipeline differs from --baseline so: "nDCG@10 < -0.01"; by '
        "default never"
    )  # fmt: skip
    runs: Path | None = place("folder for TREC runs, one file PIPELINE.run each")
    letor: Path | None = place(
        "folder for LETOR files of the candidates and their scores by ranker, PIPELINE.letor each"
    )
    json: bool = switch(False, "print means and p-values as JSON")

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.fail_if is not None and self.baseline is None:
            raise InputError("--fail-if compares with a run; give --baseline RUN, too")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="an indexed bundle, or its address")
    parser.add_argument("collection", help="folder of judged queries in BEIR form")
    add_options(lambda _: parser, EvalOptions())


def run(given: argparse.Namespace) -> int | None:
    """Evaluate and print the results; return the exit status."""
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.collections.splits import read_split
    from ranklet.corpus.evaluation.baseline_run import parse_condition, read_baseline
    from ranklet.corpus.evaluation.letor import check_letor_files
    from ranklet.corpus.evaluation.run_files import check_run_files
    from ranklet.corpus.judgements.judgements import check_judgements
    from ranklet.runtime import load
    from ranklet.runtime.storage.address import shown

    options = options_from(EvalOptions(), vars(given))
    measures = _measures(options)
    condition = None if options.fail_if is None else parse_condition(options.fail_if, measures)
    for name in ("runs", "letor"):  # before hours of ranking, not after them
        if folder := getattr(options, name):
            _make_folder(name, Path(folder))
    bundle = load(given.bundle)
    collection = Collection(given.collection, documents=False)  # the bundle has them
    queries = read_split(collection, options.split, limit=options.max_queries)
    documents = bundle.documents
    judgements = check_judgements(
        collection, [options.split], documents.lacking, f"the bundle {shown(given.bundle)}"
    )
    recipes = _pipelines(options, bundle)
    names = list(recipes)
    if options.runs:
        check_run_files(Path(options.runs), names)
    if options.letor:
        check_letor_files(Path(options.letor), names)
    before, unlisted = None, list[int]()
    if options.baseline:
        before, unlisted = read_baseline(options.baseline, queries, measures)
    if before and before.pipeline in names:
        raise InputError(
            f"a pipeline is named {before.pipeline!r}, too; rename the file of the run"
        )
    evaluations, shares = _evaluate(options, bundle, queries, recipes, measures)
    failed: list[str] = []
    if before:
        _warn_of_gains(evaluations, queries, unlisted, str(options.baseline))
        if condition:
            failed = [each.pipeline for each in evaluations if condition.holds(each, before)]
        evaluations.insert(0, before)
    advice = list(_advice(bundle, evaluations))
    results = _Results(queries, evaluations, judgements, shares, failed, advice)
    (_show_json if options.json else _show)(results, options)
    return FAILED if failed else None


def _measures(options: EvalOptions) -> list[str]:
    """Return the names of the measures, and check what else is known before a bundle is read."""
    from ranklet.corpus.evaluation.ranked import parse_ranked
    from ranklet.corpus.progress import warn

    measures = list(options.measures)
    for name in measures:
        if 0 < options.depth < (parse_ranked(name).cut or 0):
            warn(f"{name} reads more documents than --depth {options.depth} ranks")
    return measures


def _pipelines(options: EvalOptions, bundle: "Bundle") -> "dict[str, PipelineLike]":
    """Return the pipelines to evaluate by name, those of the bundle and one of each ranker."""
    from ranklet.corpus.building.default_pipelines import complete_pipelines

    if not bundle.manifest.pipelines:
        raise InputError("the bundle has no pipeline; export a ranker that can retrieve, too")
    own = bundle.manifest.pipelines  # LETOR files are of these
    known = dict(own) if options.letor else complete_pipelines(bundle.manifest)
    names = list(options.pipelines or known)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"pipeline {twice[0]!r} is given twice; name each once")
    return {name: known.get(name, name) for name in names}


def _advice(bundle: "Bundle", evaluations: "list[Evaluation]") -> Iterator[str]:
    """Yield what the results say about the weights of the bundle's rankers."""
    pipelines = bundle.manifest.pipelines
    used = {name for each in pipelines.values() for name in each.rankers}
    if unused := [name for name in bundle.manifest.rankers if name not in used]:
        yield (f"in the bundle but in no pipeline: {', '.join(unused)}; `ranklet learn "
               "--no-training` learns the weights")  # fmt: skip
    measure = next(iter(evaluations[0].values))
    means = {each.pipeline: each.mean(measure) for each in evaluations}
    default = bundle.manifest.default_pipeline
    parts = [name for name in pipelines[default].rankers if name in means and name != default]
    best = max(parts, key=means.__getitem__, default=default)
    if default in means and means[best] > means[default]:
        yield (f"{best} alone is better than {default} ({measure} {means[best]:.4f}, "
               f"{means[default]:.4f}); `ranklet learn` learns weights, `build --weights` takes "
               "others")  # fmt: skip


def _evaluate(
    options: EvalOptions,
    bundle: "Bundle",
    queries: "list[JudgedQuery]",
    recipes: "dict[str, PipelineLike]",
    measures: list[str],
) -> "tuple[list[Evaluation], dict[str, float]]":
    """Return the evaluation of each pipeline, and its consistency with the first if asked for."""
    from ranklet.corpus.evaluation.letor import letor_files
    from ranklet.corpus.evaluation.run_files import run_files
    from ranklet.corpus.evaluation.systems import Consistency, evaluate

    agreement = Consistency(options.consistency) if options.consistency else None
    with ExitStack() as stack:
        watchers: list[Watcher] = [agreement.add] if agreement else []
        if options.runs:
            watchers.append(stack.enter_context(run_files(Path(options.runs))))
        if options.letor:
            watchers.append(stack.enter_context(letor_files(Path(options.letor), bundle, queries)))
        evaluations = evaluate(
            bundle, queries, recipes, measures=measures,
            depth=options.depth, watchers=watchers,
        )  # fmt: skip
    return evaluations, agreement.means() if agreement else {}


class _Results(NamedTuple):
    """What was measured. The first evaluation is that of --baseline, if it is given."""

    queries: "list[JudgedQuery]"
    evaluations: "list[Evaluation]"
    judgements: "JudgementCheck"
    shares: dict[str, float]
    failed: list[str]
    advice: list[str]


def _show_json(results: _Results, options: EvalOptions) -> None:
    more: dict[str, object] = {"judgements": results.judgements.counts()}
    if results.shares:
        more[f"consistency@{options.consistency}"] = results.shares
    if options.baseline:
        more["differences"] = _differences(results.evaluations, results.queries)
    if options.fail_if:
        more["failed"] = results.failed
    show_json(json.dumps({**_plain(results.evaluations), **more}))


def _show(results: _Results, options: EvalOptions) -> None:
    from ranklet.corpus.evaluation.systems import table

    first, *others = results.evaluations
    show(table(results.evaluations, first.pipeline))
    if options.baseline:
        _say_changed(first, others, results.queries)
    if results.judgements.missing:
        missed = results.judgements.missing_relevant
        say(f"relevant documents that cannot be found, and so are missed: {missed:,}")
    of_first = others[0].pipeline if options.baseline else first.pipeline
    for name, share in results.shares.items():
        say(f"{share:.1%} of the top {options.consistency} of {name} are also in {of_first}")
    for line in results.advice:
        say(line)
    for name in results.failed:
        say(f"failed: {options.fail_if} holds for {name} next to {first.pipeline}")


def _warn_of_gains(
    evaluations: "list[Evaluation]", queries: "list[JudgedQuery]", unlisted: list[int], run: str
) -> None:
    """Warn of queries that count as gains only because the run of before has no line of them."""
    from ranklet.corpus.progress import warn

    values = [each for evaluation in evaluations for each in evaluation.values.values()]
    gains = [at for at in unlisted if any(each[at] > 0 for each in values)]
    if gains:
        warn(
            f"the run {run!r} has no line of {len(gains):,} of {len(queries):,} queries, and "
            f"counts as having found nothing for them; the first is {queries[gains[0]].id!r}"
        )


def _differences(
    evaluations: "list[Evaluation]", queries: "list[JudgedQuery]"
) -> dict[str, dict[str, dict[str, float]]]:
    """Return each changed query's difference from the first system, by system and measure."""
    from ranklet.corpus.evaluation.baseline_run import differences

    before, *others = evaluations
    return {
        each.pipeline: {
            name: {
                query.id: new - old for query, old, new in differences(each, before, name, queries)
            }
            for name in before.values
        }
        for each in others
    }


def _say_changed(
    before: "Evaluation", others: "list[Evaluation]", queries: "list[JudgedQuery]"
) -> None:
    """Print the queries that lost or gained most next to a run of before, by the first measure."""
    from ranklet.corpus.evaluation.baseline_run import differences

    measure = next(iter(before.values))
    for each in others:
        changed = differences(each, before, measure, queries)
        lost = [row for row in changed if row[2] < row[1]][:CHANGED]
        gained = [row for row in reversed(changed) if row[2] > row[1]][:CHANGED]
        for what, rows in (("lost", lost), ("gained", gained)):
            for query, old, new in rows:
                say(f"{each.pipeline} {what} {measure} {old:.3f} → {new:.3f}: {query.text[:60]}")


def _make_folder(option: str, path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--{option} {str(path)!r} cannot be a folder ({error.strerror}); give another name"
        ) from error


def _plain(evaluations: "list[Evaluation]") -> dict[str, object]:
    """Return means and p-values next to the first as plain dictionaries."""
    from ranklet.corpus.evaluation.systems import comparisons

    baseline = evaluations[0].pipeline
    return {
        "queries": evaluations[0].queries,
        "baseline": baseline,
        "systems": {
            each.pipeline: {measure: each.mean(measure) for measure in each.values}
            for each in evaluations
        },
        "p": {
            measure: {
                name: compared.p_holm
                for name, compared in comparisons(evaluations, measure, baseline).items()
            }
            for measure in evaluations[0].values
        },
    }
