"""Learn rankers, and index all that take part in one bundle."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from ranklet.corpus.building.default_fusion import FusionOptions
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import index_bundle
from ranklet.corpus.memory import release
from ranklet.corpus.progress import say
from ranklet.corpus.sources.bundle_documents import collect_metadata
from ranklet.export.bundles import export_bundle
from ranklet.export.exporter import exporter
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError, RankletError
from ranklet.training.checkpoint import Checkpoint
from ranklet.workflows.learn import candidates
from ranklet.workflows.learn.bundles import write_joined
from ranklet.workflows.learn.candidates import BM25, Candidate, Task, plan, read_bm25, tune_bm25
from ranklet.workflows.learn.limits import Budget
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.parts import Parts
from ranklet.workflows.learn.work import Work
from ranklet.workflows.tables.options import QUERIES
from ranklet.workflows.tables.texts import short_texts
from ranklet.workflows.tables.vectors import with_query_tables

SHARE = 0.25  # of the minutes of learning, which tables take at most
UNTUNED = "untuned_bm25"  # the input's own BM25, beside the tuned one


class Stored:
    """The texts that a bundle ranks, as what can be indexed again; passages stay as they are."""

    def __init__(self, files: BundleFiles) -> None:
        self._files = files
        self.name = str(files.manifest.provenance.get("collection", {}).get("name", "documents"))
        self.splitting, self.types = files.manifest.splitting, files.manifest.declared

    def documents(self) -> Iterator[Document]:
        """Yield every passage."""
        documents = self._files.need_documents()
        numbers = range(len(documents))
        for number, metadata in zip(numbers, collect_metadata(self._files, numbers), strict=True):
            location = "" if documents.locations is None else documents.locations[number]
            yield Document(*documents.record(number), metadata, location=location)


def learn_rankers(task: Task) -> tuple[Path, dict[str, str]]:
    """Return a bundle with all rankers, old and new, and why some were not learned.

    Raises:
        OutOfBudgetError: there is no time to tune BM25, or to index what counts words.
    """
    work = task.work
    planned, skipped = plan(task)
    for about, reason in skipped.items():
        say(f"without {about}: {reason}")
    with task.budget.kept():
        tuned = work.checkpoint(BM25, lambda: tune_bm25(task))
    learned = {BM25: tuned}
    for each in planned:
        if not (reason := "" if work.has(each.name) else each.why_not(task)):
            reason = _learn(each, task, learned)
        if reason:
            say(f"without {each.about}: {reason}")
            skipped[each.about] = reason
    # What reads tokens of the collection is indexed together, and encoders one by one.
    together = {name: each for name, each in learned.items() if each.settings.field}
    own = read_bm25(task.files)
    if own is not None and own != tuned.settings:  # it comes first, because it is known to be good
        together = {UNTUNED: replace(tuned, settings=own, training={}), **together}
    task.budget.indexing = 0.0
    with task.budget.kept():
        whole = work.bundle(".".join(together), partial(_index, together, task, tuned))
    parts = [(BundleFiles(whole), list(together))]
    parts += [
        (BundleFiles(_indexed(name, task, learned)), [name])
        for name in learned
        if name not in together
    ]
    names, reasons = _own_rankers(task, learned)
    parts.append((task.files, names))
    # Its name has all members, because a run that goes on may have time for more of them.
    name = ".".join(["all", *(name for _, names in parts for name in names)])
    return work.bundle(name, lambda to: write_joined(parts, to)), skipped | reasons


def _learn(candidate: Candidate, task: Task, learned: dict[str, Checkpoint]) -> str:
    """Learn and index a ranker; return why that was not possible, or an empty text."""
    work, name = task.work, candidate.name
    say(f"learning {candidate.about}")
    try:
        with task.budget.kept():
            checkpoint = work.checkpoint(name, lambda: candidate.train(task, learned[BM25]))
            if not checkpoint.settings.field:
                _indexed(name, task, {**learned, name: checkpoint})
    except RankletError as error:  # such as an encoder that is too small, or no time
        return str(error)
    finally:
        release()
    learned[name] = checkpoint
    return ""


def _indexed(name: str, task: Task, learned: Mapping[str, Checkpoint]) -> Path:
    """Return the bundle of one ranker, which is made once."""
    return task.work.bundle(name, partial(_index, {name: learned[name]}, task, learned[BM25]))


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


def _index(
    checkpoints: Mapping[str, Checkpoint], task: Task, tuned: Checkpoint, target: Path
) -> None:
    rankers = target.with_name(f"{target.name}.rankers")
    networks = {each.name for each in candidates.CANDIDATES if each.network}
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


def with_tables(
    files: BundleFiles, parts: Parts, options: LearnOptions, work: Work, budget: Budget
) -> BundleFiles:
    """Return the bundle with a table in place of each network that may not read queries.

    Tables learn from its documents and from the queries to learn from and to tune on.
    """
    entries = files.manifest.rankers.items()
    found = [(name, exporter(entry.kind).tables) for name, entry in entries]
    able = [name for name, tables in found if tables and not tables.encodes(files.settings(name))]
    if options.network or not able:
        return files
    say(f"learning a table that encodes queries in place of {', '.join(able)}")
    documents = files.need_documents()
    titled = (documents.record(number)[1:] for number in range(len(documents)))
    asked = [(query.text, "") for part in (parts.learn, parts.tune) for query in part]
    minutes = min(QUERIES.table_minutes, SHARE * budget.left() / 60)

    def make(target: Path) -> None:
        texts = short_texts(chain(asked, titled))
        with_query_tables(str(files.path), target, texts, max(0.0, minutes))

    try:
        return BundleFiles(work.bundle("tables", make))
    except RankletError as error:
        say(f"without a table of queries: {error}")
        return files
