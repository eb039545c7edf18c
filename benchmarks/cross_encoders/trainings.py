"""Trainings that begin alike: each is kept on its own, and continues if it was interrupted."""

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.built.trained import CROSS, HELD_OUT, LEARN, all_cores, tuned_bm25
from benchmarks.cross_encoders.scope import STEP, Scope
from benchmarks.cross_encoders.systems import MODEL1, VANILLA, System
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.learning.state import STATE
from ranklet.training.rankers.cross_encoder import training
from ranklet.training.rankers.cross_encoder.options import Options

RATES = (5e-5, 1e-4, 2e-4, 4e-4)  # of the encoder; heads learn ten times as fast
SAVED = 20  # steps between saves of the state
CODE = (
    *CROSS,
    "runtime/text/pairing.py",
    "runtime/text/marking.py",
    "runtime/text/chunks.py",
    "benchmarks/cross_encoders/trainings.py",
)


@dataclass(frozen=True)
class Source:
    """What networks learn from.

    Attributes:
        name: of what is kept; another collection has another name.
        collection: the documents and queries.
        learn: the split to learn from.
        held_out: the split that chooses between weights.
        bm25: that negatives come from.
        titles: whether titles are part of the text.
    """

    name: str
    collection: Collection
    learn: str
    held_out: str
    bm25: BM25Settings
    titles: bool = True


class Chosen(NamedTuple):
    """A learning rate that was chosen on held-out queries.

    Attributes:
        rate: of the encoder.
        table: what every rate reached.
    """

    rate: float
    table: str


def qa_mix(place: Place) -> Source:
    """Return qa-mix, of whose train a tenth is held out."""
    collection = place.collection("qa-mix")
    return Source("qa-mix", collection, LEARN, HELD_OUT, tuned_bm25(place, "qa-mix"))


def learned(
    scope: Scope,
    source: Source,
    system: System,
    *,
    steps: int,
    rate: float,
    pool: int,
    seed: int = 0,
    start: Path | None = None,
) -> Path:
    """Return the folder of a trained network.

    The number of steps is given, and never the time, so the load of the machine decides nothing.
    All systems of a source learn from the same queries with the same negatives.

    Args:
        scope: of the run.
        source: what it learns from.
        system: what learns.
        steps: of `STEP` queries.
        rate: of the encoder.
        pool: held-out queries that choose between the first and the last weights.
        seed: of all draws.
        start: the folder of a network with the same head to continue from; None for the backbone.
    """
    settings = system.settings_of(scope.sizes)
    begun = read_checkpoint(start).digest if start else str(scope.backbone)
    way = [system.loss, system.learn_from, f"{rate:g}", pool]
    given = [asdict(settings), asdict(source.bm25), *way, begun]
    digest = hashlib.sha256(json.dumps(given).encode()).hexdigest()[:8]
    name = f"cross.{source.name}.{slug(system.label)}.{steps}.{seed}.{digest}"

    def build(path: Path) -> None:
        state = scope.place.state(name, CODE)
        options = Options(
            settings=settings,
            loss=system.loss,
            learn_from=system.learn_from,
            learning_rate=rate,
            steps=steps,
            evaluations=1,
            seed=seed,
            backbone=None if start else scope.backbone,
            start=start,
            bm25=source.bm25,
            titles=source.titles,
            save_every=SAVED,
            folder=state,
            resume=(state / STATE).is_file(),
        )
        queries = read_split(source.collection, source.learn, limit=steps * STEP)
        held_out = read_split(source.collection, source.held_out, limit=pool)
        with all_cores():
            training.train(source.collection, queries, held_out, options).save(path)
        shutil.rmtree(state, ignore_errors=True)

    return scope.place.keep(name, build, CODE)


def chosen_rate(scope: Scope, source: Source) -> Chosen:
    """Return the rate with the best mean of vanilla's and BERT-Model1's held-out MRR@10.

    Both heads count, so that the rate favours neither. All systems then have it.
    """
    sizes, values = scope.sizes, {}
    for rate in RATES:
        paths = [
            learned(scope, source, system, steps=sizes.rate_steps, rate=rate, pool=sizes.rate_pool)
            for system in (VANILLA, MODEL1)
        ]
        values[rate] = [float(read_checkpoint(path).training["best"]) for path in paths]
    best = max(values, key=lambda rate: sum(values[rate]))
    rows = [[f"{rate:g}", *(f"{each:.3f}" for each in own)] for rate, own in values.items()]
    return Chosen(best, table(["learning rate", VANILLA.label, MODEL1.label], rows))


def minutes(checkpoint: Checkpoint) -> float:
    """Return how long a network was trained, without evaluations."""
    return float(checkpoint.training["seconds"]) / 60


def slug(label: str) -> str:
    """Return a label as a part of a file's name.

    >>> slug("Sim-Pair, markers' average")
    'sim-pair--markers--average'
    """
    return "".join(each if each.isalnum() else "-" for each in label.lower())
