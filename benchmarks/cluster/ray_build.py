"""Time with a Ray cluster on one machine, next to one process: to index, to rank, with a lost node.

Both have one thread per process, and Ray's nodes share the processors of this machine. So the times
show what Ray costs, and how far two processes are from half the time. They do not show what further
machines gain. Every bundle is compared with the one of a single process, file by file.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from benchmarks.footprint.update_speed import exported, pieces, written
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.distributed.shards import MOST_DOCUMENTS
from ranklet.runtime.bundles.files import BundleFiles

PACKAGES = ("ray", "onnxruntime", "tokenizers", "simplemma")
LEXICAL, DENSE = 100_000, 16_000  # passages
QUERIES = 2_000
ACTORS = (1, 2)
LOST_AFTER = 2  # finished shards, after which a node is killed
STORE = 500 << 20  # bytes of each node's object store
PATIENCE = 1_800.0  # seconds, after which a command is not waited for
COMMAND = (sys.executable, "-m", "ranklet")


def run(place: Place) -> str:
    """Index, rank, and kill a node."""
    folder = place.work / "ray_build"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    passages = list(islice(pieces(place), LEXICAL))
    texts = written(passages, folder / "lexical.jsonl")
    few = written(passages[:DENSE], folder / "dense.jsonl")
    bm25 = exported(folder / "bm25", passages[:DENSE], model=False)
    both = exported(folder / "both", passages[:DENSE], model=True)
    queries = folder / "queries.txt"
    asked = [each.text for each in read_split(place.collection("google-wiki"), "train")]
    queries.write_text("".join(f"{' '.join(text.split())}\n" for text in asked[:QUERIES]))
    index, rank = partial(_index, folder), partial(_rank, folder / "both.local", queries)
    rows = [
        _times(f"index, BM25, {LEXICAL:,} passages", partial(index, bm25, texts, "bm25")),
        _times(f"index, BM25 and MiniLM, {DENSE:,} passages", partial(index, both, few, "both")),
        _times(f"rank, {len(asked[:QUERIES]):,} queries, the latter bundle", rank),
    ]
    seconds, done, shards = lost(folder, both, few)
    shutil.rmtree(folder)
    head = ["", "one process, s", *(f"Ray, {count} {_actors(count)}, s" for count in ACTORS)]
    return f"""
{table(head, rows)}

- Seconds of a command, its start included. Passages have 55 words.
- One of two nodes was killed when {done} of {shards} shards of MiniLM were finished. The command \
took {seconds:.0f} s, because the other node did the rest.
- Each bundle had the same manifest (but for its date and where it was made), and so the same \
sha256 of every file, as that of one process. The answers of `rank` were the same, but for times.
"""


def _actors(count: int) -> str:
    return "actor" if count == 1 else "actors"


def _times(label: str, work: Callable[[str, Sequence[str]], Any]) -> list[str]:
    """Return a row; what the cluster made must be what one process made.

    Args:
        label: of the row.
        work: runs a command with a name and options; returns what it made.
    """
    row, found = [label], []
    for name, options in (("local", ()), *((f"ray{count}", _engine(count)) for count in ACTORS)):
        with two_nodes() if options else nullcontext() as cluster:
            address = () if cluster is None else ("--address", cluster.address)
            begin = perf_counter()
            made = work(name, (*options, *address))
            row.append(f"{perf_counter() - begin:.1f}")
        found.append(made())
    if any(each != found[0] for each in found):
        raise ValueError(f"{label}: the cluster made something else than one process")
    return row


def _engine(count: int) -> tuple[str, ...]:
    return ("--engine", "ray", "--num-actors", str(count))


def _index(
    folder: Path, rankers: Path, texts: Path, name: str, way: str, options: Sequence[str]
) -> Callable[[], Any]:
    """Index, and return what reads the manifest."""
    target = folder / f"{name}.{way}"
    _command("index", rankers, texts, "-o", target, *options)
    return lambda: manifest(target)


def _rank(
    bundle: Path, queries: Path, _: str, options: Sequence[str]
) -> Callable[[], list[dict[str, Any]]]:
    """Rank, and return what reads the answers."""
    output = _command("rank", bundle, "-", "--json", "-k", 10, *options, given=queries)

    def answers() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in output.splitlines()]
        for line in lines:
            line.pop("ms", None)
            line.pop("timings", None)
        return lines

    return answers


def lost(folder: Path, rankers: Path, texts: Path) -> tuple[float, int, int]:
    """Index while one of two nodes is killed, and compare the bundle.

    Returns:
        seconds, how many shards were finished when the node was killed, and how many there are.
    """
    target = folder / "both.lost"
    shards = folder / f".{target.name}.resume"
    begin = perf_counter()
    with two_nodes() as cluster:
        arguments = ["index", rankers, texts, "-o", target]
        arguments += [*_engine(2), "--address", cluster.address]
        with subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            env=_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as command:
            while (done := _finished(shards)) < LOST_AFTER:
                if command.poll() is not None or perf_counter() - begin > PATIENCE:
                    command.kill()
                    raise ValueError("the command ended before a node could be killed")
                sleep(0.2)
            (second,) = cluster.worker_nodes
            cluster.remove_node(second, allow_graceful=False)
            if status := command.wait(PATIENCE):
                raise ValueError(f"the command ended with {status} after a node was lost")
    seconds = perf_counter() - begin
    if manifest(target) != manifest(folder / "both.local"):
        raise ValueError("after a node was lost the bundle differs from that of one process")
    return seconds, done, -(-DENSE // MOST_DOCUMENTS)


def _finished(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.zip"))


def manifest(bundle: Path) -> dict[str, Any]:
    """Return what a manifest says except for the date and the provenance; every file is read."""
    found: dict[str, Any] = json.loads((bundle / "manifest.json").read_text())
    BundleFiles(bundle, check="full")
    return {name: found[name] for name in found if name not in ("created", "provenance")}


@contextmanager
def two_nodes() -> Iterator[Any]:
    """Run a cluster with room for two actors, of which the second node has one at least."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(num_cpus=max(ACTORS), object_store_memory=STORE)
        yield cluster
    finally:
        cluster.shutdown()


def _command(*arguments: object, given: Path | None = None) -> str:
    with (given or Path(os.devnull)).open("rb") as standard_input:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env=_environment(),
            stdin=standard_input,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"ranklet {arguments[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "RANKLET_THREADS": "1"}
