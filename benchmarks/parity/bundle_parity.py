"""Bundles, proofs and scores of two checkouts, compared bit for bit.

Every kind of ranker is trained, exported, indexed and ranked with through a checkout's command
line, on a tiny collection and a tiny random BERT. The reports of two checkouts are compared:

    python -m benchmarks.parity.bundle_parity --tree OLD_CHECKOUT -o old.json
    python -m benchmarks.parity.bundle_parity --tree NEW_CHECKOUT -o new.json --compare old.json

The exit status is 1 if an array, a graph, a proof, a score or a number of an explanation differs.
Ranklet is never imported here, so modules may move between the two. Both reports must come from
one machine with the same packages, because others round differently.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.harness.package import install
from benchmarks.parity.inputs import write_inputs
from benchmarks.parity.systems import SYSTEMS, System

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "numpy onnx onnxruntime scipy simplemma tokenizers torch transformers"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "RANKLET_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


class Checkout:
    """The command line of one checkout, in a work folder."""

    def __init__(self, tree: Path, work: Path) -> None:
        self._work, source = work, install(tree.resolve(), work / "package")
        self._environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(source)}
        where = self._python("-c", "import ranklet; print(ranklet.__file__)").stdout.strip()
        if not Path(where).is_relative_to(source):
            raise SystemExit(f"Python imports {where}, which is not in {source}")

    def measure(self, name: str, system: System) -> dict[str, Any]:
        """Make a system's bundle; return all that is compared, by what it is of."""
        folder = self._work / name
        shutil.rmtree(folder, ignore_errors=True)
        if system.train:
            kind, _, options = system.train.partition(" ")
            self._ranklet(f"train {kind} collection -o {name}/checkpoint {options}")
        if system.bundle:
            checkpoints = " ".join(f"{each}={each}/checkpoint" for each in system.bundle.split())
            self._ranklet(f"export {checkpoints} -o {name}/rankers {system.export}")
            self._ranklet(f"index {name}/rankers collection -o {name}/bundle {system.index}")
        if system.fuse:
            options = f"--split dev {system.fuse}"
            self._ranklet(f"fuse {name}/bundle collection -o {name}/fused.zip {options}")
            shutil.unpack_archive(folder / "fused.zip", folder / "fused")
        result: dict[str, Any] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".zip":
                result |= described(path.relative_to(folder).as_posix(), path.read_bytes())
        last, ending = ("fused", ".zip") if system.fuse else ("bundle", "")
        if system.bundle:
            for pipeline in json.loads((folder / last / "manifest.json").read_bytes())["pipelines"]:
                result |= self._answers(f"{name}/{last}{ending}", pipeline)
        return result

    def _answers(self, bundle: str, pipeline: str) -> Iterator[tuple[str, Any]]:
        """Yield what a pipeline answers to every query."""
        queries = (self._work / "queries.txt").read_text("utf-8")
        done = self._ranklet(f"rank {bundle} - --pipeline {pipeline} --explain --json", queries)
        for line in map(json.loads, done.splitlines()):
            where = f"{pipeline}: {line['query'][:40]!r}"
            yield f"{where} truncated", line["truncated"]
            yield f"{where} ids", [hit["id"] for hit in line["hits"]]
            yield f"{where} scores", [hit["score"] for hit in line["hits"]]
            for hit, key in product(line["hits"], ("value", "label")):
                yield f"{where} {hit['id']} {key}s", _sha256(_tree(hit["explanation"], key))
            for hit in line["hits"]:
                if reasons := list(_reasons(hit["explanation"])):
                    values = [_tree(each, "value") for each in reasons]
                    yield f"{where} {hit['id']} {REASONS}", _sha256(values)

    def _ranklet(self, line: str, given: str = "") -> str:
        """Run a command line; return its output."""
        done = self._python("-m", "ranklet", *line.split(), given=given)
        # 3: an export with a variant that failed its proof, or a training of few steps.
        if done.returncode not in ((0, 3) if line.startswith(("export", "train")) else (0,)):
            raise RuntimeError(f"ranklet {line}: status {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def _python(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], cwd=self._work, env=self._environment, input=given,
            capture_output=True, text=True, check=False,
        )  # fmt: skip


# JSON files that are compared value by value, without times, dates, versions, digests, and the
# manifest's copy of what ranklet.json says. Other files are compared as they are.
DESCRIPTIONS = ("manifest.json", "report.json", "ranklet.json", "config.json")
UNEQUAL = (
    "ms",
    "seconds",
    "evaluation_seconds",
    "created",
    "ranklet_version",
    "files",
    "checkpoints",
)
NAMES = "(with the names of its nodes and values)"  # after the path of a graph


def described(path: str, content: bytes) -> Iterator[tuple[str, Any]]:
    """Yield what is compared of a file: its digest, or the values of a description."""
    digest = hashlib.sha256(content).hexdigest()
    if Path(path).name in DESCRIPTIONS:
        yield from _values(json.loads(content), f"{path} ")
    elif path.endswith(".onnx"):
        yield path, _sha256(_computation(content))
        yield f"{path} {NAMES}", digest
    else:
        yield path, digest


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested JSON by their paths, without those of `UNEQUAL`."""
    if isinstance(value, dict | list) and value:
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in UNEQUAL:
                yield from _values(part, f"{path}.{key}")
    else:
        yield path, value


def _computation(content: bytes) -> list[Any]:
    """Return an ONNX graph without the names that it gives to nodes and inner values."""
    from onnx import ModelProto, numpy_helper

    graph = ModelProto.FromString(content).graph
    outside = [value.name for value in (*graph.input, *graph.output)]
    name_of = {name: name for name in outside}
    for constant in graph.initializer:
        values = numpy_helper.to_array(constant)
        digest = hashlib.sha256(values.tobytes()).hexdigest()
        name_of[constant.name] = f"{values.dtype} {values.shape} {digest}"
    nodes = []
    for node in graph.node:
        inputs = [name_of.get(name, name) for name in node.input]
        outputs = [name_of.setdefault(name, f"%{len(name_of)}") for name in node.output]
        options = sorted(each.SerializeToString().hex() for each in node.attribute)
        nodes.append([node.domain, node.op_type, options, inputs, outputs])
    return [outside, nodes]


def _tree(explanation: Any, key: str) -> list[Any]:
    return [explanation[key], [_tree(part, key) for part in explanation["parts"]]]


def _reasons(explanation: Any) -> Iterator[Any]:
    """Yield the reasons of all ranks of an explanation, also those within other reasons."""
    below = [*explanation["parts"], *filter(None, [explanation.get("reasons")])]
    yield from below[len(explanation["parts"]) :]
    for each in below:
        yield from _reasons(each)


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


LABELS = "labels"  # of explanations; their wording may change
REASONS = "reasons"  # of ranks
# The number of the format, and a page for people.
EXPECTED = (".format_version",)


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return how two results of a system differ, as lines of text by sort."""
    found: dict[str, list[str]] = {"DIFFERS": [], "expected": [], "note": [], LABELS: []}
    pipelines = {key.partition(": ")[0] for key in new}
    for key, before in old.items():
        pipeline, answer, _ = key.partition(": ")
        if answer and pipeline not in pipelines:
            found["note"].append(f"the pipeline {pipeline} is gone: {key}")
        elif key not in new:
            found[_sort(key, gone=True)].append(f"{key} is gone; it was {before!r}")
        elif before != new[key]:
            sort = _sort(key, text=isinstance(before, str))
            found[sort].append(f"{key}: {before!r} → {new[key]!r}")
    for key in new:
        if key not in old:
            found[_sort(key, gone=True)].append(f"{key} is new: {new[key]!r}")
    return found


def _sort(key: str, *, text: bool = False, gone: bool = False) -> str:
    """Return whether what differs at a key must not, is expected, or is for a person."""
    if key.endswith(EXPECTED):
        return "expected"
    path, space, _ = key.partition(" ")
    description = bool(space) and path.endswith(DESCRIPTIONS)
    schema = gone and description and not path.endswith("report.json")
    names = key.endswith((NAMES, ".bytes"))  # a graph's size changes with its names
    other = "note" if schema or names or (text and description) else "DIFFERS"
    return LABELS if key.endswith(f" {LABELS}") else other


def show(name: str, found: Mapping[str, list[str]]) -> None:
    """Print a system's row of the table, and below it what differs."""
    counts = ", ".join(f"{len(lines)} {sort}" for sort, lines in found.items() if lines)
    print(f"{name:18}{counts or 'equal'}")
    for sort in ("DIFFERS", "expected", "note"):
        for line in found[sort][:12]:
            print(f"    {sort:10}{line:.300}")


def main() -> int:
    """Measure a checkout, write the report, compare; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parity.bundle_parity")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout to measure (this one)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="report to write")
    parser.add_argument("--compare", type=Path, help="report of another checkout")
    parser.add_argument("--only", help=f"systems and those they build on, of {','.join(SYSTEMS)}")
    parser.add_argument("--work", type=Path, default=ROOT / "work", help="work folder")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run finished")
    options = parser.parse_args()
    work = options.work.resolve() / "parity"  # nothing else of the work folder is deleted
    if not options.resume:
        shutil.rmtree(work, ignore_errors=True)
    write_inputs(work)
    checkout, failed = Checkout(options.tree, work), False
    cpu = re.findall(r"^(?:cpu family|model).*", Path("/proc/cpuinfo").read_text(), re.M)[:3]
    machine = [" ".join(line.split()) for line in cpu]
    machine += [f"{package} {version(package)}" for package in PACKAGES.split()]
    old = json.loads(options.compare.read_text()) if options.compare else None
    if old and old["machine"] != machine:
        print(f"WARNING: the old report is of {old['machine']}, this one of {machine}")
    report: dict[str, Any] = {"machine": machine, "systems": {}}
    for name in options.only.split(",") if options.only else SYSTEMS:
        done = work / f"{name}.json"
        try:
            if not done.is_file():
                done.write_text(json.dumps(checkout.measure(name, SYSTEMS[name])))
            report["systems"][name] = measured = json.loads(done.read_text())
        except RuntimeError as error:
            failed = True
            print(f"{name:18}FAILED\n    {error}")
            continue
        if old:
            found = compare(old["systems"].get(name, {}), measured)
            failed |= bool(found["DIFFERS"])
            show(name, found)
        print(f"{name}: done", file=sys.stderr)
    options.output.write_text(json.dumps(report, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
