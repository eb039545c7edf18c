"""Memory and time of `ranklet build` for a million short passages, next to tantivy's time.

The passages are the texts of google-wiki in pieces of 55 words, repeated until there are enough.
"""

import csv
import os
import shutil
import subprocess
import sys
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter

from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.report import goal, table

PACKAGES = ("tantivy",)
COLLECTION, WORDS = "google-wiki", 55
COUNTS = (100_000, 1_000_000)
MOST = 0.25  # of the bytes that a larger bundle has more, how many a build needs more in memory

RANKLET = """
import sys, ranklet
from ranklet.training.data.sources.options import SourceOptions
ranklet.build(sys.argv[1], sys.argv[2], options=SourceOptions(passage_words=0), overwrite=True)
"""
TANTIVY = """
import csv, os, sys, tantivy
builder = tantivy.SchemaBuilder()
builder.add_text_field("id", stored=True, tokenizer_name="raw")
builder.add_text_field("body", stored=True, tokenizer_name="en_stem")
os.makedirs(sys.argv[2])
index = tantivy.Index(builder.build(), path=sys.argv[2])
writer = index.writer(heap_size=200_000_000, num_threads=1)
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        writer.add_document(tantivy.Document(id=row["id"], body=row["text"]))
writer.commit()
writer.wait_merging_threads()
"""


def run(place: Place) -> str:
    """Build collections of growing size in fresh processes."""
    rows, sizes, peaks = [], [], []
    for count in COUNTS:
        name = f"passages.{count}"
        file = place.keep(f"{name}.csv", partial(_write, place, count), ("benchmarks/footprint",))
        bundle, peer = place.work / f"{name}.ranklet", place.work / f"{name}.tantivy"
        for folder in (bundle, peer):
            shutil.rmtree(folder, ignore_errors=True)
        seconds, peak = _measured(RANKLET, file, bundle)
        theirs, their_peak = _measured(TANTIVY, file, peer)
        size = _size(bundle)
        sizes.append(size)
        peaks.append(peak)
        rows.append(
            [
                f"{count:,}", f"{size:.0f}", f"{peak:.0f}", f"{peak / size:.2f}", f"{seconds:.0f}",
                f"{_size(peer):.0f}", f"{their_peak:.0f}", f"{theirs:.0f}",
                f"{seconds / theirs:.2f}",
            ]
        )  # fmt: skip
    share = (peaks[-1] - peaks[0]) / (sizes[-1] - sizes[0])
    head = ["passages", "bundle, MB", "peak, MB", "peak ÷ bundle", "s"]
    head += ["tantivy's index, MB", "its peak, MB", "its s", "time ÷ tantivy's"]
    return f"""
{table(head, rows)}

{goal("more peak memory against more bundle, from the first row to the last,", share, MOST, "×")}
- Peak resident memory of a fresh process, which includes Python, numpy and the lemmatiser's \
dictionary (some 150 MB). tantivy writes with one thread and a heap of 200 MB, and stores the \
texts, as a bundle does; it keeps no tokens of documents and no lemmas.
"""


def _measured(code: str, file: Path, target: Path) -> tuple[float, float]:
    """Return seconds and peak memory in MB of a process."""
    # VmHWM and not ru_maxrss, which begins at the value of the process that starts this one.
    peak = "[line for line in open('/proc/self/status') if line.startswith('VmHWM')][0].split()[1]"
    script = f"{code}\nprint({peak})"
    begin = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, str(file), str(target)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return perf_counter() - begin, int(done.stdout.split()[-1]) * 1024 / 1e6


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _write(place: Place, count: int, path: Path) -> None:
    documents = [document.text.split() for document in place.collection(COLLECTION).documents()]
    pieces = (
        " ".join(words[begin : begin + WORDS])
        for words in cycle(documents)
        for begin in range(0, len(words), WORDS)
    )
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        writer.writerows([f"p{at}", piece] for at, piece in enumerate(islice(pieces, count)))
