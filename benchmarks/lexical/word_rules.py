"""What the rules of words cost and gain, against an earlier checkout.

Set `RANKLET_BEFORE` to a checkout of the project with other rules. Both build a BM25 search of each
collection by `ranklet build`, in processes of their own. Nothing is tuned, and words of titles
count once in both.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.place import ROOT, MissingDataError, Place
from benchmarks.harness.report import table

PACKAGES = ("simplemma",)
BEFORE = "RANKLET_BEFORE"
MEASURE = "nDCG@10"
SPLITS = {"scifact": "test"}  # dev elsewhere; scifact's has 95 queries only
REPEATS = 2  # builds of each, of which the one with the least CPU time counts
PROSE = ("qa-mix", "medquad", "scifact", "google-wiki")
LANGUAGES = {
    **dict.fromkeys((*PROSE[:3], "debian-packages"), "en"),
    **{f"debian-{name}": name[:2] for name in ("de", "fr", "ja", "pl", "pt_BR", "ru")},
    PROSE[3]: "en",
}
LOST, LARGER, SLOWER = 0.002, 0.05, 0.1  # what the rules may cost at most


class Built(NamedTuple):
    """A search of a collection."""

    quality: float
    bytes: int
    seconds: float  # CPU time of the build


def run(place: Place) -> str:
    """Build and judge a search of every collection that is there, before and after."""
    before = os.environ.get(BEFORE)
    if not before or not (Path(before) / "src/ranklet").exists():
        raise MissingDataError(f"set {BEFORE} to a checkout whose rules are to be compared")
    rows, kept = [], True
    for name in chosen():
        collection = place.collection(name).path
        old, new = measured([Path(before), ROOT], collection, LANGUAGES[name], place.work)
        print(name, old, new, file=sys.stderr)
        size, time = new.bytes / old.bytes - 1, new.seconds / old.seconds - 1
        kept &= new.quality >= old.quality - LOST and time <= SLOWER
        kept &= size <= LARGER or name not in PROSE
        rows.append(
            [
                name,
                f"{old.quality:.4f}",
                f"{new.quality:.4f} ({new.quality - old.quality:+.4f})",
                f"{new.bytes / 1e6:.1f} MB ({size:+.1%})",
                f"{new.seconds:.1f} s ({time:+.1%})",
            ]
        )
    head = ["collection", f"{MEASURE} before", "after", "bundle", "CPU time of the build"]
    goal = f"no loss above {LOST}, prose no more than {LARGER:.0%} larger, builds no more than"
    return f"""
{table(head, rows)}

Goal: {goal} {SLOWER:.0%} slower: {"met" if kept else "missed"}.
"""


def chosen() -> Sequence[str]:
    """Return the names of the collections, or those in the variable `RANKLET_COLLECTIONS`."""
    named = os.environ.get("RANKLET_COLLECTIONS", "").split()
    return named or list(LANGUAGES)


def measured(checkouts: Sequence[Path], collection: Path, language: str, work: Path) -> list[Built]:
    """Return what each checkout builds of a collection; they take turns."""
    best: list[Built] = []
    for at in range(REPEATS * len(checkouts)):
        checkout, target = checkouts[at % len(checkouts)], work / "word_rules.ranklet"
        shutil.rmtree(target, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
        source = collection / "corpus.jsonl.gz"
        before = _children()
        once = ["--title-boost", "1"] if checkout == ROOT else []  # as in earlier checkouts
        _ranklet(checkout, "build", source, "-o", target, "--language", language, *once)
        seconds = _children() - before
        if at >= len(checkouts):
            old = best[at % len(checkouts)]
            best[at % len(checkouts)] = old._replace(seconds=min(seconds, old.seconds))
            continue
        options = (
            "--split",
            SPLITS.get(collection.name, "dev"),
            "--measures",
            MEASURE,
            "--depth",
            "10",
            "--json",
        )
        found = json.loads(_ranklet(checkout, "eval", target, collection, *options))
        size = sum(each.stat().st_size for each in target.rglob("*") if each.is_file())
        (values,) = found["systems"].values()  # of one pipeline
        best.append(Built(values[MEASURE], size, seconds))
    return best


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ranklet(checkout: Path, *arguments: object) -> str:
    command = [sys.executable, "-m", "ranklet", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout
