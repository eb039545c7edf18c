"""Time of an update of one document in a hundred, next to indexing all documents again.

The passages are the texts of google-wiki in pieces of 55 words, repeated until there are enough. A
third of the change is new, a third replaces other passages, and a third is deleted.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.probes import unjudged_probes
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.workflows.imported import with_probes

PACKAGES = ("simplemma", "onnxruntime", "tokenizers")
COLLECTION, WORDS = "google-wiki", 55
LEXICAL, DENSE = (10_000, 100_000, 400_000), (2_000, 10_000)  # passages
SHARE = 0.01  # of the passages that change
MOST = 1.0  # seconds per 100,000 unchanged passages, with BM25 alone

UPDATE = """
import json, sys, ranklet
ranklet.update(sys.argv[1], sys.argv[2], delete=json.loads(sys.argv[3]), target=sys.argv[4])
"""
INDEX = """
import sys
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
index_bundle(sys.argv[1], Source(sys.argv[2]), sys.argv[4])
"""


class Times(NamedTuple):
    """Seconds of fresh processes, their start included."""

    update: float
    scratch: float


def run(place: Place) -> str:
    """Update and index collections of growing size in fresh processes."""
    rows, seconds = [], {}
    with_dense = f"BM25 and {wheel_folder().name}"
    for label, counts, model in (("BM25", LEXICAL, False), (with_dense, DENSE, True)):
        folder = place.work / "update_speed"
        for count in counts:
            shutil.rmtree(folder, ignore_errors=True)
            passages = list(islice(pieces(place), count + changed(count)))
            found = measured(exported(folder, passages, model), passages, count, folder)
            seconds[label, count] = found.update
            rows.append(
                [
                    label, f"{count:,}", f"{changed(count) * 3:,}", f"{found.update:.1f}",
                    f"{found.scratch:.1f}", f"{found.scratch / found.update:.1f}",
                ]
            )  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)
    head = ["rankers", "passages", "changed", "update, s", "all again, s", "×"]
    least, most = LEXICAL[0], LEXICAL[-1]
    growth = (seconds["BM25", most] - seconds["BM25", least]) / (most - least) * 100_000
    return f"""
{table(head, rows)}

{goal("seconds per 100,000 unchanged passages, BM25 alone,", growth, MOST, "s")}
- Seconds of fresh processes. They include the start of Python, the lemmatiser's dictionary and \
the check of every sha256 of the old bundle.
"""


def changed(count: int) -> int:
    """Return how many passages are added, and as many are replaced and deleted."""
    return max(1, round(count * SHARE / 3))


def exported(folder: Path, passages: Sequence[Document], model: bool) -> Path:
    """Return a bundle of BM25, and of MiniLM in 8 bits if `model`, without a collection."""
    checkpoints = {"bm25": Checkpoint("bm25", BM25Settings())}
    if model:
        probes = unjudged_probes(passages)
        read = {"dense": read_model(wheel_folder())}
        checkpoints |= with_probes(read, {"dense": wheel_folder()}, probes)
    return Path(export_bundle(checkpoints, folder / "rankers", ExportOptions(variants=("int8",))))


def measured(rankers: Path, passages: Sequence[Document], count: int, folder: Path) -> Times:
    """Return the times of a change, whose result must be the same in both ways.

    Args:
        rankers: a bundle without a collection.
        passages: those of the collection, and then the new ones.
        count: passages of the collection.
        folder: keeps files and bundles.
    """
    change = changed(count)
    old, new = list(passages[:count]), passages[count : count + change]
    step = count // (2 * change)  # replaced and deleted ones are spread evenly
    replaced = [
        each._replace(text=f"{each.text} {other.text}")
        for each, other in zip(old[:: 2 * step][:change], new, strict=True)
    ]
    deleted = [each.id for each in old[step :: 2 * step][:change]]
    others = {each.id: each for each in replaced}
    after = [others.get(each.id, each) for each in old if each.id not in set(deleted)]
    index_bundle(rankers, Source(map(Document._asdict, old)), folder / "old")
    added = written([*replaced, *new], folder / "added.jsonl")
    whole = written([*after, *new], folder / "whole.jsonl")
    gone = json.dumps(deleted)
    times = Times(
        _seconds(UPDATE, folder / "old", added, gone, folder / "updated"),
        _seconds(INDEX, rankers, whole, gone, folder / "scratch"),
    )
    files = [
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*.npy")}
        for top in (folder / "updated", folder / "scratch")
    ]
    if files[0] != files[1]:
        raise ValueError("an updated bundle differs from one that was built from scratch")
    return times


def pieces(place: Place) -> Iterable[Document]:
    """Yield passages without end."""
    texts = [document.text.split() for document in place.collection(COLLECTION).documents()]
    parts = (
        " ".join(words[begin : begin + WORDS])
        for words in cycle(texts)
        for begin in range(0, len(words), WORDS)
    )
    return (Document(f"p{at}", "", part) for at, part in enumerate(parts))


def written(documents: Iterable[Document], path: Path) -> Path:
    """Write documents as JSON Lines, and return the path."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(each._asdict(), ensure_ascii=False) + "\n" for each in documents)
    return path


def _seconds(code: str, *arguments: str | Path) -> float:
    begin = perf_counter()
    subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], stderr=subprocess.DEVNULL, check=True
    )
    return perf_counter() - begin
