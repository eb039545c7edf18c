"""What a multilingual encoder costs to import and to answer a query, and with fewer tokens.

`RANKLET_E5` names a folder of multilingual-e5-small, and `RANKLET_BEFORE` another checkout, which
is measured in the same run. Each figure is that of a process of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.fusion.collections import E5_VARIABLE
from benchmarks.harness.place import ROOT, MissingDataError, Place
from benchmarks.harness.report import goal, table
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles

PACKAGES = ("torch", "transformers", "tokenizers", "onnxruntime")
BEFORE_VARIABLE = "RANKLET_BEFORE"
COLLECTION, SPLIT = "debian-de", "dev"
QUERY = "Werkzeug zum Komprimieren von Dateien"
ROUNDS = 5
WHOLE, CUT = "model", "collection"  # values of --vocabulary
IMPORT_SECONDS, IMPORT_MB, QUERY_MB, QUERY_SECONDS = 200, 2000, 350, 1.5

# A process ends with its own peak, because ru_maxrss begins at the value of what started it.
RUN = """
import json, os, sys, time
begin = time.perf_counter()
{code}
seconds, used = time.perf_counter() - begin, os.times()
status = dict(line.split(":") for line in open("/proc/self/status"))
peak, now = (int(status[name].split()[0]) * 1024 / 1e6 for name in ("VmHWM", "VmRSS"))
print(json.dumps([seconds, used.user + used.system, peak, now]))
"""
IMPORT = """
from ranklet.commands import main
from contextlib import redirect_stdout
with redirect_stdout(sys.stderr):
    assert main(["export", sys.argv[1], "-o", sys.argv[2], "--force", "--variants", "int8"]) == 0
"""
ANSWER = """
import ranklet
assert len(ranklet.load(sys.argv[1], device="cpu").rank(sys.argv[2], k=10)) == 10
"""


def run(place: Place) -> str:
    """Import the encoder, build searches with it, and answer a query with each."""
    if E5_VARIABLE not in os.environ:
        raise MissingDataError(f"set {E5_VARIABLE} to a folder of multilingual-e5-small")
    folder = Path(os.environ[E5_VARIABLE])
    trees = {"before": Path(os.environ[BEFORE_VARIABLE])} if BEFORE_VARIABLE in os.environ else {}
    trees |= {"now": ROOT}
    imports = {
        name: measured(tree, IMPORT, [str(folder), str(place.work / f"e5.{name}")])
        for name, tree in trees.items()
    }
    source = str(place.collection(COLLECTION).path / "corpus.jsonl.gz")
    build = partial(_build, source, folder)
    paths = {
        (name, WHOLE): build(tree, place.work / f"{name}.ranklet") for name, tree in trees.items()
    }
    paths["now", CUT] = build(ROOT, place.work / "cut.ranklet", "--vocabulary", CUT)
    queries = {
        case: [measured(trees[case[0]], ANSWER, [str(path), QUERY]) for _ in range(ROUNDS)]
        for case, path in paths.items()
    }
    rows = []
    for (name, vocabulary), path in paths.items():
        seconds, _, _, resident = (
            median(each) for each in zip(*queries[name, vocabulary], strict=True)
        )
        used, peak = (f"{imports[name][at]:.0f}" for at in (1, 2)) if vocabulary == WHOLE else "––"
        sizes = [f"{size / 1e6:.1f}" for size in _sizes(path)]
        rows.append([name, vocabulary, used, peak, *sizes, f"{seconds:.2f}", f"{resident:.0f}"])
    head = ["", "tokens of the", "import, s of CPU", "its peak, MB", "graph, MB", "tokenizer, MB"]
    head += ["first answer, s", "resident, MB"]
    seconds, _, _, resident = (median(each) for each in zip(*queries["now", CUT], strict=True))
    return f"""
{table(head, rows)}

{goal("processor time of the import", imports["now"][1], IMPORT_SECONDS, "s")}
{goal("its peak", imports["now"][2], IMPORT_MB, "MB")}
{goal("one query with the collection's tokens, resident", resident, QUERY_MB, "MB")}
{goal("its first answer, imports included", seconds, QUERY_SECONDS, "s")}
- *Import* is `ranklet export --variants int8` with the default texts, library's model compared. A \
first answer opens the bundle of {COLLECTION} and ranks one query by the default fusion; median of \
{ROUNDS} processes with warm files.

{_quality(place, paths["now", WHOLE], paths["now", CUT])}
"""


def measured(tree: Path, code: str, arguments: Sequence[str]) -> list[float]:
    """Return seconds, seconds of processor time, and peak and final memory in MB of a process."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(code=code), *arguments],
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "ORT_DISABLE_TELEMETRY": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    numbers: list[float] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def _build(source: str, folder: Path, tree: Path, target: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "ranklet", "build", source, "-o", str(target), "--force"]
    subprocess.run(
        [*command, "--model", str(folder), *options],
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return target


def _sizes(path: Path) -> tuple[int, int]:
    """Return the bytes of the encoder's graph and of its tokenizer."""
    files = BundleFiles(path).manifest.files
    graph, tokenizer = (
        next(entry.bytes for name, entry in files.items() if name.endswith(end))
        for end in ("/model_int8.onnx", "/tokenizer.json")
    )
    return graph, tokenizer


def _quality(place: Place, whole: Path, cut: Path) -> str:
    """Return what the other tokens are worth to queries."""
    queries = read_split(place.collection(COLLECTION), SPLIT)
    values = {}
    for name, path in ((WHOLE, whole), (CUT, cut)):
        bundle = load(path, device="cpu")
        encoder = next(each for each in bundle.manifest.rankers if each != "bm25")
        pipelines = {"encoder": bundle.manifest.pipelines[encoder], "default fusion": None}
        for each in evaluate(bundle, queries, pipelines, measures=("nDCG@10",), depth=100):
            values[each.pipeline, name] = each.values["nDCG@10"]
    rows = []
    for system in ("encoder", "default fusion"):
        both = {name: values[system, name] for name in (WHOLE, CUT)}
        (found,) = compare(both, pairs=[(CUT, WHOLE)])
        means = [f"{each.mean():.3f}" for each in both.values()]
        rows.append([system, *means, f"{found.difference:+.4f}", f"{found.p:.2f}"])
    tokens, outside, texts = _outside(whole, cut, [query.text for query in queries])
    return f"""{table(["nDCG@10", "all tokens", "the collection's", "difference", "p"], rows)}

- {len(queries)} queries of {SPLIT}. Of their {tokens:,} tokens {outside:,} are not in the \
collection, in {texts} queries; the words are split into smaller tokens.
- The documents' vectors of both differ by at most {_difference(whole, cut):.1g} \
(int8; rounding is fitted to texts that both do not read alike)."""


def _outside(whole: Path, cut: Path, texts: list[str]) -> tuple[int, int, int]:
    """Return the tokens of some queries, those that are cut, and the queries that have one."""
    every, known = (
        BundleFiles(path).tokenizer(f"rankers/{_encoder(path)}/tokenizer.json")
        for path in (whole, cut)
    )
    names = set(known.get_vocab())
    rows = [every.encode(text, add_special_tokens=False).tokens for text in texts]
    lost = [sum(token not in names for token in row) for row in rows]
    return sum(map(len, rows)), sum(lost), sum(each > 0 for each in lost)


def _difference(whole: Path, cut: Path) -> float:
    from ranklet.runtime.rankers.dense import open_vectors

    one, other = (
        open_vectors(files, name, files.settings(name)).floats(slice(None))
        for path in (whole, cut)
        for files, name in [(BundleFiles(path), _encoder(path))]
    )
    return float(np.abs(one - other).max())


def _encoder(path: Path) -> str:
    return next(name for name in BundleFiles(path).manifest.rankers if name != "bm25")
