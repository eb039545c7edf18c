"""The rankers that a search may learn, cheapest first, and when each is worth its time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ranklet.export.learning.parts import Parts
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.session import processors
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.indexing.language.options import TextOptions
from ranklet.training.learning.weights import STATE

BM25, MODEL1, NEURAL, DENSE = "bm25", "model1", "neural_model1", "trained"
TUNING = 500  # queries on which BM25 is tuned, at most
# What is tried. Finer steps change nDCG@10 by less than its noise.
K1S, BS, BOOSTS = (0.3, 0.6, 0.9, 1.2, 2.0), (0.2, 0.4, 0.6, 0.8), (1.0, 2.0, 3.0)
NORMALISERS = ("lemma", "stem", "lemma+stem")
NORMALISER_GAIN = 0.005  # of the measure, for which all words are analysed anew
ANALYSIS_SECONDS = 0.001  # per passage
NORMALISERS_SHARE = 0.1  # of the time, which the other normalisers may take
BATCH = 32  # queries per step of the encoder
# Steps of the encoder. 200 steps of 32 queries suffice for 5,000 queries (`own_encoders`).
LEAST_STEPS, MOST_STEPS, PASSES = 40, 400, 4
# Seconds that steps take on two processors, by tokens of a document; they plan and measure nothing.
STEP_SECONDS = {128: 4.0, 256: 8.0}
PASSAGE_SECONDS = {128: 0.008, 256: 0.016}  # of encoding
NEURAL_SECONDS = 0.06  # per query that is learned from, all epochs
EXPORT_SECONDS = 60.0
LONG_SHARE = 0.1  # of texts that have more than 128 tokens, from which on 256 are read
TOKENS_PER_WORD = 1.4


@dataclass(frozen=True)
class Task:
    """What rankers learn from, and what they may cost.

    Attributes:
        files: of the bundle that is to become better.
        collection: its documents, whole, with the splits of `Parts`.
        parts: the queries.
        measure: what is tuned for.
        model: the folder of the encoder to begin with; None if none is known.
        network: whether a network may read queries.
        folder: where trainings keep their states.
        seconds: that learning may take in all.
        left: returns the seconds that are left for trainings.
    """

    files: BundleFiles
    collection: Collection
    parts: Parts
    measure: str
    model: Path | None
    network: bool
    folder: Path
    seconds: float
    left: Callable[[], float]

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
        """How words are read, unless tuning finds a better way."""
        return TextOptions.of(self.files.manifest.languages, self.files.manifest.normaliser)

    @cached_property
    def tokens(self) -> int:
        """How many tokens of a text an encoder should read, 128 or 256."""
        documents = self.files.need_documents()
        places = np.unique(np.linspace(0, len(documents) - 1, min(200, len(documents))).astype(int))
        lengths = np.array([len(documents.texts[place].split()) for place in places.tolist()])
        return 256 if (lengths * TOKENS_PER_WORD > 128).mean() > LONG_SHARE else 128


Numbers = tuple[float, ...]


class Candidate(NamedTuple):
    """A ranker that may be learned.

    Attributes:
        name: of the ranker in the bundle.
        about: what it is, for people.
        least: queries to learn from.
        network: whether a network reads each query.
        seconds: returns about how long it takes to learn, export and index it.
        train: returns it, given the BM25 that was tuned.
        by_hand: returns the options of `ranklet train KIND` that do the same.
        lexical: whether it counts the tokens of the collection.
    """

    name: str
    about: str
    least: int
    network: bool
    seconds: Callable[[Task], float]
    train: Callable[[Task, Checkpoint], Checkpoint]
    by_hand: Callable[[Task, Checkpoint], str]
    lexical: bool = True

    def why_not(self, task: Task) -> str:
        """Return why it is not tried, or an empty text."""
        count = len(task.parts.learn)
        if count < self.least:
            return f"it needs {self.least:,} queries to learn from, and there are {count:,}"
        if self.network and not task.network:
            return "a network would read each query (--no-network)"
        if self.network and task.model is None:
            return "no encoder to begin with is known; name one with --model FOLDER"
        needed, left = self.seconds(task), task.left()
        if needed > left:
            return f"it takes about {needed / 60:.0f} minutes, and {max(0, left) / 60:.0f} are left"
        return ""


def tuned_bm25(task: Task) -> Checkpoint:
    """Return BM25 with the k1, b, title boost and normaliser that rank queries to learn from best.

    With few queries it is that of the bundle.
    """
    from ranklet.training.rankers.bm25.options import Options
    from ranklet.training.rankers.bm25.training import train

    own = own_bm25(task.files)
    queries = [*task.parts.learn, *task.parts.tune][:TUNING]
    if task.parts.few:
        read = task.files.manifest
        return Checkpoint("bm25", own, languages=read.languages, normaliser=read.normaliser)

    def tried(words: TextOptions, k1s: Numbers, bs: Numbers, boosts: Numbers) -> Checkpoint:
        options = Options(
            field=own.field, k1_grid=k1s, b_grid=bs, boost_grid=boosts, titles=task.titles,
            words=words, measure=task.measure,
        )  # fmt: skip
        return train(task.collection, queries, [], options)

    titled = task.titles and _titled(task.files)
    best = tried(task.words, K1S, BS, BOOSTS if titled else BOOSTS[:1])
    for each in other_normalisers(task):
        tuned = best.settings
        words = replace(task.words, normaliser=each)
        other = tried(words, (tuned.k1,), (tuned.b,), (tuned.title_boost,))
        if _reached(other) > _reached(best) + NORMALISER_GAIN:
            best = other
    return replace(best, settings=replace(best.settings, impacts=own.impacts))


def other_normalisers(task: Task) -> list[str]:
    """Return the normalisers that are tried besides the bundle's, if they take little time."""
    now = task.words.normaliser
    others = [each for each in NORMALISERS if each != now]
    seconds = len(others) * ANALYSIS_SECONDS * task.passages
    if own_bm25(task.files).field != "lemmas" or now not in NORMALISERS or task.parts.few:
        return []
    return others if seconds <= NORMALISERS_SHARE * task.seconds else []


def own_bm25(files: BundleFiles) -> BM25Settings:
    """Return the settings of a bundle's first BM25, or the defaults if it has none."""
    for name, entry in files.manifest.rankers.items():
        if entry.kind == "bm25":
            settings: BM25Settings = entry.read_settings(name)
            return settings
    return BM25Settings()


def _reached(checkpoint: Checkpoint) -> float:
    return float(checkpoint.training["best"])


def _titled(files: BundleFiles) -> bool:
    documents = files.need_documents()
    places = np.linspace(0, len(documents) - 1, min(50, len(documents))).astype(int)
    return any(documents.titles[place].strip() for place in places.tolist())


def _model1(task: Task, bm25: Checkpoint) -> Checkpoint:
    from ranklet.training.rankers.model1.options import Options
    from ranklet.training.rankers.model1.training import train

    settings = bm25.settings
    options = Options(
        field=settings.field, bm25=settings, titles=task.titles, measure=task.measure,
        words=bm25.words or task.words,
    )  # fmt: skip
    return train(task.collection, task.parts.learn, task.parts.tune, options)


def _neural(task: Task, bm25: Checkpoint) -> Checkpoint:
    from ranklet.training.rankers.neural_model1.options import Options
    from ranklet.training.rankers.neural_model1.training import train

    options = Options(
        bm25=bm25.settings, titles=task.titles, measure=task.measure, backbone=task.model,
        evaluations=2, **_state(task, NEURAL),
    )  # fmt: skip
    return train(task.collection, task.parts.learn, task.parts.tune, options)


def _dense(task: Task, bm25: Checkpoint) -> Checkpoint:
    from ranklet.training.rankers.dense.options import Options
    from ranklet.training.rankers.dense.training import train

    steps = dense_steps(task, task.left())
    options = Options(
        steps=steps, evaluations=2, negatives="mined", mine_every=max(20, steps // 3),
        mine_among=5_000, max_document_tokens=task.tokens, titles=task.titles,
        backbone=task.model, bm25=bm25.settings, **_state(task, DENSE),
    )  # fmt: skip
    return train(task.collection, task.parts.learn, task.parts.tune, options)


def _state(task: Task, name: str) -> Mapping[str, Any]:
    folder = task.folder / f"{name}.run"
    return {"folder": folder, "resume": (folder / STATE).is_file()}


def dense_steps(task: Task, seconds: float) -> int:
    """Return how many steps an encoder learns: some passes over the queries, as many as fit in.

    They are halved until they fit, so that a little more or less time gives the same number.
    """
    steps = min(MOST_STEPS, max(LEAST_STEPS, PASSES * len(task.parts.learn) // BATCH))
    while steps > LEAST_STEPS and _dense_seconds(task, steps) > seconds:
        steps = max(LEAST_STEPS, steps // 2)
    return steps


def _dense_seconds(task: Task, steps: int = LEAST_STEPS) -> float:
    speed = processors() / 2
    learning = steps * STEP_SECONDS[task.tokens] / speed
    return learning + EXPORT_SECONDS / speed + task.passages * PASSAGE_SECONDS[task.tokens] / speed


def _by_hand(kind: str, *options: str) -> Callable[[Task, Checkpoint], str]:
    def command(task: Task, trained: Checkpoint) -> str:
        used = trained.training.get("options", {})
        typed = [f"--{each.replace('_', '-')} {used[each]}" for each in options if each in used]
        start = [f"--backbone {task.model}"] if task.model and kind in (NEURAL, "dense") else []
        titles = [] if task.titles else ["--no-titles"]
        measure = [f"--measure {task.measure}"] if kind != "dense" else []
        more = " ".join(["--bm25 bm25", *measure, *start, *typed, *titles])
        return f"ranklet train {kind} JUDGED -o {DENSE if kind == 'dense' else kind} {more}"

    return command


def bm25_by_hand(task: Task, tuned: Checkpoint) -> str:
    """Return the command that tunes BM25 in about the same way."""
    titles = f"--title-boost {tuned.settings.title_boost:g}" if task.titles else "--no-titles"
    words = f"--normaliser {tuned.normaliser}" if tuned.normaliser else ""
    return f"ranklet train bm25 JUDGED -o bm25 --measure {task.measure} {titles} {words}".rstrip()


CANDIDATES = (
    Candidate(
        MODEL1, "Model 1, learned by EM", 200, False, lambda _: 60.0, _model1, _by_hand(MODEL1)
    ),
    Candidate(
        NEURAL, "neural Model 1", 1_000, False,
        lambda task: EXPORT_SECONDS + NEURAL_SECONDS * len(task.parts.learn), _neural,
        _by_hand(NEURAL),
    ),
    Candidate(
        DENSE, "the encoder, trained on these queries", 200, True, _dense_seconds, _dense,
        _by_hand(
            "dense", "steps", "negatives", "mine_every", "mine_among", "max_document_tokens"
        ),
        lexical=False,
    ),
)  # fmt: skip
