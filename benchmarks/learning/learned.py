"""What `ranklet learn` gains over the default search of a bundle, and what judgements are worth.

Each bundle is built from documents and an encoder as they come. Then it learns from queries of
train, once, with the defaults. The reported queries are of dev or test, and nothing saw them.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from benchmarks.built.trained import all_cores
from benchmarks.fusion.collections import E5, E5_VARIABLE, MINILM
from benchmarks.harness.evenly import evenly
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.collection import Document, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.significance import Interval, interval
from ranklet.corpus.sources.options import SourceOptions
from ranklet.export.build import build
from ranklet.export.learning.learn import learn
from ranklet.export.learning.result import Learned
from ranklet.runtime.errors import InputError
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("torch", "transformers", "onnxruntime", "simplemma")
MINUTES, DOCUMENTS, REPORTED = 30.0, 10_000, 600
MEASURE = "MRR@10"
CODE = (
    *("export/learning", "corpus/building/default_fusion.py"),
    *(f"training/{name}" for name in ("rankers", "learning", "train.py")),
)
COUNTS = (100, 300, 1_000, 3_000)  # judged queries of the curve
HOURS = "RANKLET_LEARNED_HOURS"  # a variable: after so many, no study is begun


class NoTimeError(Exception):
    """There is no time left to learn."""


class Study(NamedTuple):
    """A collection, and how its search is built and learned.

    Attributes:
        name: of the collection.
        model: of the encoder; empty for none.
        split: of the reported queries.
        language: of the texts.
        titles: whether titles are ranked.
        judged: most queries of train that are given; 0 for all.
        network: whether a network may read queries.
    """

    name: str
    model: str = MINILM
    split: str = "dev"
    language: str = "en"
    titles: bool = True
    judged: int = 0
    network: bool = True

    @property
    def label(self) -> str:
        """What the tables call it."""
        facts = [] if self.titles else ["without titles"]
        facts += [f"{self.judged:,} judged"] * bool(self.judged)
        facts += ["E5"] * (self.model == E5) + ["--no-network"] * (not self.network)
        return ", ".join([self.name, *facts])


STUDIES = (
    Study("medquad", model="", titles=False, network=False),
    Study("scifact", split="test"),
    Study("medquad", titles=False),
    Study("debian-packages"),
    Study("qa-mix"),
    Study("medquad"),
    Study("google-wiki"),
    Study("debian-de", E5, language="de"),
    Study("debian-ja", E5, language="ja"),
)
CURVE = tuple(
    Study("medquad", model="", titles=False, judged=count, network=False) for count in COUNTS
)


def run(place: Place) -> str:
    """Build and learn what is not kept, the quickest first, as long as `HOURS` allow."""
    ends = monotonic() + 3600 * float(os.environ.get(HOURS, "inf"))
    found = {}
    for study in (*CURVE, *STUDIES):
        with suppress(NoTimeError):
            found[study] = learned(place, study, ends)
    missing = "; ".join(each.label for each in (*CURVE, *STUDIES) if each not in found)
    rows = [_row(study, found[study]) for study in STUDIES if study in found]
    curve = [_row(study, found[study]) for study in CURVE if study in found]
    head = ["collection", "queries", "before", "after", "gain (95 %)", "members"]
    head += ["minutes", "ms, p95", "MB"]
    return f"""
{table(head, rows) if rows else ""}

{MEASURE} on at most {REPORTED:,} queries that nothing was learned or chosen on. *Before*: the \
bundle of `ranklet build --model`, with its default fusion. At most {DOCUMENTS:,} documents, those \
of judged queries first; `--minutes {MINUTES:g}`, two processors. *Queries*: to learn from and to \
choose on.

What judgements are worth, of medquad without titles and without a network for queries:

{table(head, curve)}

{f"Not measured yet: {missing}." if missing else ""}
"""


def learned(place: Place, study: Study, ends: float = float("inf")) -> dict[str, Any]:
    """Return what was learned in a study, plain values by name; it is kept.

    Raises:
        NoTimeError: it is not kept, and the time is over.
    """

    def make(path: Path) -> None:
        if monotonic() > ends:
            raise NoTimeError
        bundle, judged, report = prepared(place, study)
        try:
            with all_cores():
                found = learn(
                    bundle, judged, path.with_suffix(".ranklet"), minutes=MINUTES, measure=MEASURE,
                    network=study.network, model=_folder(study.model), overwrite=True,
                )  # fmt: skip
        except InputError:  # too few queries
            path.write_text("{}")
        else:
            path.write_text(json.dumps(_plain(found, len(report))))

    name = "-".join(study.label.replace(",", "").replace("--", "").split())
    kept: dict[str, Any] = json.loads(place.keep(f"learned.{name}.json", make, CODE).read_text())
    return kept


def prepared(place: Place, study: Study) -> tuple[Path, Path, list[JudgedQuery]]:
    """Return a bundle, a folder of judged queries of its documents, and the reported ones."""
    collection = place.collection(study.name)
    report = read_split(collection, study.split)
    report = [report[at] for at in evenly(len(report), REPORTED)]
    train = read_split(collection, "train")
    if study.judged:
        train = [train[at] for at in evenly(len(train), study.judged)]
    documents = list(_documents(list(collection.documents()), report, train))
    kept = {each.id for each in documents}
    train = [each for each in train if kept.issuperset(each.relevant)]

    def make(path: Path) -> None:
        models = [_folder(study.model)] if study.model else []
        build(
            (each._asdict() for each in documents), path, models=[m for m in models if m],
            options=SourceOptions(skip_bad=True), language=study.language, titles=study.titles,
            overwrite=True,
        )  # fmt: skip

    titles = "" if study.titles else ".untitled"
    name = f"{study.name}{titles}.{study.model}.{study.judged}.input.ranklet"
    bundle = place.keep(name, make, CODE)

    def judge(path: Path) -> None:
        splits = {
            name: ([Query(q.id, q.text) for q in of], {q.id: q.relevant for q in of})
            for name, of in (("train", train), ("test", report))
        }
        write_collection(path, [], splits)

    judged = place.keep(f"{study.name}{titles}.{study.judged}.judged", judge, CODE)
    return bundle, judged, report


def _documents(
    documents: list[Document], report: list[JudgedQuery], train: list[JudgedQuery]
) -> Iterator[Document]:
    """Yield the documents of reported queries, of as many others as fit, and some more."""
    wanted = {name for query in report for name in query.relevant}
    for query in train:
        if len(wanted) + len(query.relevant) <= DOCUMENTS:
            wanted |= set(query.relevant)
    others = [each.id for each in documents if each.id not in wanted]
    more = max(0, DOCUMENTS - len(wanted))
    wanted |= {others[at] for at in evenly(len(others), more)} if more else set()
    yield from (each for each in documents if each.id in wanted)


def _folder(model: str) -> Path | None:
    if model == E5:
        return Path(os.environ[E5_VARIABLE])
    return wheel_folder() if model else None


def _plain(found: Learned, reported: int) -> dict[str, Any]:
    kept = next((row for row in found.rows if row.kept), found.rows[0])
    base = found.rows[0]
    return {
        "parts": found.parts,
        "reported": reported,
        "before": float(np.mean(base.values)),
        "after": float(np.mean(kept.values)),
        "gain": list(interval(kept.values, base.values)),
        "members": kept.name if found.target else "the input is kept",
        "minutes": found.minutes,
        "ms": [base.cost.p95, kept.cost.p95],
        "mb": [base.cost.mb, kept.cost.mb],
        "skipped": dict(found.skipped),
    }


def _row(study: Study, found: dict[str, Any]) -> list[str]:
    if not found:
        return [study.label, *[""] * 4, "too few to learn from, so the input is kept", *[""] * 3]
    learn_, tune, choose, _ = found["parts"]
    ms, mb = found["ms"], found["mb"]
    return [
        study.label,
        f"{learn_ + tune:,} + {choose:,}",
        f"{found['before']:.3f}",
        f"{found['after']:.3f}",
        str(Interval(*found["gain"])) if found["members"] != "the input is kept" else "",
        found["members"],
        f"{found['minutes']:.0f}",
        f"{ms[0]:.1f} → {ms[1]:.1f}",
        f"{mb[0]:.0f} → {mb[1]:.0f}",
    ]
