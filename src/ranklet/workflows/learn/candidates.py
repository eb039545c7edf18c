"""The rankers that a search may learn, in turn, and when each is worth its time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.index import list_words
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.progress import duration
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.extras import install
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.lexical.field_index import TITLE
from ranklet.runtime.onnx.session import processors
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.options import EncoderOptions, TrainingOptions
from ranklet.training.train import load_options, train
from ranklet.workflows.learn.limits import Budget
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.parts import Parts
from ranklet.workflows.learn.work import Work

BM25, LIGHT = "bm25", "light"
TUNING = 500  # queries on which BM25 is tuned, at most
# What is tried. Finer steps change nDCG@10 by less than its noise.
K1S, BS, BOOSTS = (0.3, 0.6, 0.9, 1.2, 2.0), (0.2, 0.4, 0.6, 0.8), (1.0, 2.0, 3.0)
# Steps of an encoder. 200 steps of 32 queries suffice for 5,000 queries (`own_encoders`).
BATCH, LEAST_STEPS, MOST_STEPS, PASSES = 32, 40, 400, 4
LEAST_SHARE = 0.2  # of the steps of a network that begins with little, below which it is not tried
PASSAGE_SECONDS = 0.008  # of encoding 128 tokens on two processors; it plans and measures nothing
EXPORT_SECONDS = 60.0
MIN_MINUTES = 0.1  # of a training, so that it makes a step
LONG_SHARE = 0.1  # of texts that have more than 128 tokens, from which on 256 are read
TOKENS_PER_WORD = 1.4
PAIR_MS = 5.0  # of a query and a document in a cross-encoder, about
LEAST_PAIRS = 10  # documents that a cross-encoder must have time for
Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Task:
    """What rankers learn from, and what they may cost.

    Attributes:
        files: of the bundle that is to become better.
        collection: its documents, whole, with the splits of `Parts`.
        parts: the queries.
        options: what the search and its learning may cost, and what is tuned for.
        model: the folder of the encoder to begin with; None if none is known.
        work: what was made before an interruption.
        budget: the time and the memory that are left.
    """

    files: BundleFiles
    collection: Collection
    parts: Parts
    options: LearnOptions
    model: Path | None
    work: Work
    budget: Budget

    @property
    def titles(self) -> bool:
        """Whether titles are ranked."""
        return self.files.manifest.titles

    @property
    def passages(self) -> int:
        """The number of texts that an encoder would encode."""
        return self.files.manifest.documents

    @cached_property
    def words(self) -> TextOptions:
        """How words are read."""
        return list_words(self.files.manifest)

    @cached_property
    def tokens(self) -> int:
        """How many tokens of a text an encoder should read, 128 or 256."""
        documents = self.files.need_documents()
        places = evenly(len(documents), 200)
        lengths = np.array([len(documents.texts[place].split()) for place in places])
        return 256 if (lengths * TOKENS_PER_WORD > 128).mean() > LONG_SHARE else 128


class Candidate(NamedTuple):
    """A ranker that may be learned.

    Times are those of two processors. They plan and measure nothing.

    Attributes:
        name: of the ranker in the bundle.
        kind: its kind.
        about: what it is, for people.
        least: queries to learn from.
        options: returns options of the training that are not the defaults, for some steps.
        network: whether a network reads each query.
        step: seconds of a step over texts of 128 tokens; 0 if it does not learn in steps.
        query: seconds per query to learn from.
        more: seconds of whatever else it learns.
        pairs: whether a network reads each document with the query.
        epochs: passes over the queries where there is time; 0 for at most `MOST_STEPS` steps, which
            suffice where the network knew the language before.
    """

    name: str
    kind: str
    about: str
    least: int
    options: Callable[[Task, int], Mapping[str, Any]]
    network: bool = False
    step: float = 0.0
    query: float = 0.0
    more: float = 0.0
    pairs: bool = False
    epochs: int = 0

    def why_not(self, task: Task, left: float | None = None) -> str:
        """Return why it is not tried, or an empty text.

        Args:
            task: what it would learn from.
            left: seconds that there are for it; None for all that are left.
        """
        count, slowest = len(task.parts.learn), task.options.max_ms
        if count < self.least:
            return f"it needs {self.least:,} queries to learn from, and there are {count:,}"
        if self.network and not task.options.network:
            return "a network would read each query (--no-network)"
        if self.pairs and (slowest is None or slowest < LEAST_PAIRS * PAIR_MS):
            return (
                f"it reads each document with the query, about {PAIR_MS:g} ms each; allow for that "
                f"by --max-ms {20 * PAIR_MS:g}, for example"
            )
        if task.options.lexical and not KINDS[self.kind].lexical:
            return "only rankers of words were asked for"
        if not KINDS[self.kind].lexical and find_spec("torch") is None:
            return f"it needs PyTorch: {install('train')}"
        if task.model is None and issubclass(load_options(self.kind), EncoderOptions):
            return "no encoder to begin with is known; name one with --model FOLDER"
        left = task.budget.left() if left is None else left
        needed = self.seconds(task, self.least_steps(task))
        if needed > left:
            wanted, there = (duration(max(0, each)) for each in (needed, left))
            return f"it takes at least about {wanted} minutes, and {there} are left for trainings"
        return ""

    def seconds(self, task: Task, steps: int) -> float:
        """Return about how long it takes to learn, export and index it."""
        kind, long = KINDS[self.kind], task.tokens / 128
        seconds = self.more + self.query * len(task.parts.learn) + self.step * steps * long
        if not kind.lexical:
            seconds += EXPORT_SECONDS
        if kind.index and not kind.needs_collection:
            seconds += task.passages * PASSAGE_SECONDS * long
        return 2 * seconds / processors()

    def steps(self, task: Task, left: float | None = None) -> int:
        """Return how many steps it learns: some passes over the queries, as many as fit in.

        They are halved until they fit, so that a little more or less time gives the same number.
        The seconds that there are for it may be given; see `why_not`.
        """
        left = task.budget.left() if left is None else left
        least = self.least_steps(task)
        steps = max(least, self.most_steps(task))
        while steps > least and self.seconds(task, steps) > left:
            steps = max(least, steps // 2)
        return steps

    def most_steps(self, task: Task) -> int:
        """Return how many steps it learns where there is time."""
        queries = len(task.parts.learn)
        if self.epochs:
            return self.epochs * queries // int(load_options(self.kind).batch)
        return min(MOST_STEPS, PASSES * queries // BATCH)

    def least_steps(self, task: Task) -> int:
        """Return with how many steps it is worth its time."""
        return max(LEAST_STEPS, int(LEAST_SHARE * self.most_steps(task)) if self.epochs else 0)

    def training_options(self, task: Task, bm25: Checkpoint) -> Any:
        """Return all options of its training. Those of an interrupted training stay the same."""
        options = load_options(self.kind)
        steps = task.work.number(f"{self.name}.steps", lambda: self.steps(task))
        given = {
            "bm25": bm25.settings, "titles": task.titles, "measure": task.options.measure,
            "field": bm25.settings.field, "words": bm25.words or task.words,
            "backbone": task.model, **self.options(task, steps),
        }  # fmt: skip
        known = {each.name for each in fields(options)}
        return options(**{name: value for name, value in given.items() if name in known})

    def train(self, task: Task, bm25: Checkpoint) -> Checkpoint:
        """Return it, given the BM25 that was tuned. It ends early if the time is over."""
        options = self.training_options(task, bm25)
        if isinstance(options, TrainingOptions):
            later = self._replace(more=0, query=0).seconds(task, 0)
            minutes = max(MIN_MINUTES, (task.budget.left() - later) / 60)
            options = replace(options, max_minutes=minutes)
        return train(
            self.kind, task.collection, task.parts.learn, task.parts.tune, options,
            task.work.folder / f"{self.name}.run",
        )  # fmt: skip


def tune_bm25(task: Task) -> Checkpoint:
    """Return BM25 with the k1, b, title boost and weights of fields that rank best."""
    own = read_bm25(task.files) or BM25Settings()
    queries = [*task.parts.learn, *task.parts.tune][:TUNING]

    titled = task.titles and TITLE not in (own.fields or ()) and _titled(task.files)
    options = load_options(BM25)(
        field=own.field, k1_grid=K1S, b_grid=BS, boost_grid=BOOSTS if titled else BOOSTS[:1],
        titles=task.titles, words=task.words, measure=task.options.measure, fields=own.fields,
    )  # fmt: skip
    best = train(BM25, task.collection, queries, [], options)
    return replace(best, settings=replace(best.settings, impacts=own.impacts))


def read_bm25(files: BundleFiles) -> BM25Settings | None:
    """Return the settings of a bundle's first BM25, or None if it has none."""
    for name, entry in files.manifest.rankers.items():
        if entry.kind == BM25:
            settings: BM25Settings = entry.read_settings(name)
            return settings
    return None


def _titled(files: BundleFiles) -> bool:
    documents = files.need_documents()
    return any(documents.titles[place].strip() for place in evenly(len(documents), 50))


def _read(task: Task, steps: int, **more: Any) -> dict[str, Any]:
    """Return the options of an encoder of texts."""
    return {"steps": steps, "evaluations": 2, "max_document_tokens": task.tokens, **more}


def _dense(task: Task, steps: int) -> dict[str, Any]:
    mine = {"negatives": "mined", "mine_every": max(20, steps // 3), "mine_among": 5_000}
    return _read(task, steps, **mine)


def _light(task: Task, steps: int) -> dict[str, Any]:
    """Return the options of vectors that imitate a ColBERT, which is trained first."""
    bm25 = task.work.made(BM25)
    task.work.number(f"{ORACLE.name}.steps", lambda: steps)
    task.work.checkpoint(ORACLE.name, lambda: ORACLE.train(task, bm25))
    return _read(
        task, min(80, steps), oracle=task.work.place(ORACLE.name), backbone=None,
        context="neighbours", window=1, idf=True, batch=BATCH, distil_texts=0, distil_steps=150,
        distil_batch=BATCH,
    )  # fmt: skip


# No markers, no expansion and no vectors of special tokens, like the oracle of Boualili, chapter 8.
ORACLE = Candidate(
    "oracle", "colbert", "ColBERT", 1_000,
    lambda task, steps: _read(
        task, steps, markers=False, special_tokens=False, punctuation=True, learning_rate=5e-5
    ),
    step=2.0,
)  # fmt: skip
CANDIDATES = (
    Candidate(
        "model1", "model1", "Model 1, by EM", 200, lambda *_: {}, query=0.01, more=5.0
    ),
    Candidate(
        "trained", "dense", "the encoder, trained on these queries", 200, _dense, network=True,
        step=4.0,
    ),
    Candidate(
        "neural_model1", "neural_model1", "neural Model 1", 1_000,
        lambda _, steps: {"steps": steps, "evaluations": 2}, step=0.08, epochs=12,
    ),
    Candidate(
        "sparse", "splade", "learned sparse texts, with a table of weights for queries", 1_000,
        lambda task, steps: _read(task, steps, queries="learned"), step=4.0,
    ),
    Candidate(
        LIGHT, "srm", "static light vectors", 1_000, _light, step=ORACLE.step, more=600.0
    ),
    Candidate(
        "cross", "cross_encoder", "a cross-encoder that reads the best documents", 1_000,
        lambda _, steps: {"steps": steps, "evaluations": 2, "learning_rate": 2e-4}, network=True,
        step=8.0, pairs=True,
    ),
)  # fmt: skip


def plan(task: Task) -> tuple[list[Candidate], dict[str, str]]:
    """Return the rankers that there is time to learn, one after the other, and why not the others.

    Those before take as many steps as fit in, so an encoder has its own time before others do.
    """
    left, planned, skipped = task.budget.left(), list[Candidate](), dict[str, str]()
    for each in CANDIDATES:
        made = task.work.has(each.name)
        if reason := "" if made else each.why_not(task, left):
            skipped[each.about] = reason
            continue
        planned.append(each)
        left -= 0 if made else each.seconds(task, each.steps(task, left))
    return planned, skipped
