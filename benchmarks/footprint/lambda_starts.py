"""AWS Lambda: from exec to the first answer, through the real runtime client, and warm after it."""

import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from tests.handlers.runtime_api import Function, RuntimeAPI

from benchmarks.built.bundles import qa_mix_cross, qa_mix_hybrid, qa_mix_lexical
from benchmarks.built.trained import QA_MIX
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from ranklet.corpus.collections.splits import read_split

ROUNDS = 10
WARM = {"lexical": 200, "hybrid": 200, "cross-encoder": 10}  # queries of each process
BUNDLES = {"lexical": qa_mix_lexical, "hybrid": qa_mix_hybrid, "cross-encoder": qa_mix_cross}
MEMORY_MB = 3538  # 2 processors
MOST = {"lexical": 350.0, "hybrid": 900.0}  # ms, issued


class Start(NamedTuple):
    """One process: ms from exec to its first answer by part, then ms of warm answers, and bytes."""

    imports: float
    load: float
    trial: float
    first: float
    warm: list[float]
    resident: int
    own: int

    @property
    def whole(self) -> float:
        """From exec to the first answer."""
        return self.imports + self.load + self.trial + self.first


def section(place: Place) -> str:
    """Start processes in turn, ten for each bundle."""
    paths = {name: build(place) for name, build in BUNDLES.items()}
    most = max(WARM.values()) + 1
    texts = [each.text for each in read_split(place.collection(QA_MIX), "dev", limit=most)]
    starts: dict[str, list[Start]] = {name: [] for name in paths}
    for turn in range(-1, ROUNDS):  # the first fills the page cache and is not counted
        for name, path in paths.items():
            found = _start(path, texts[: WARM[name] + 1])
            if turn >= 0:
                starts[name].append(found)
    whole = {name: float(np.median([s.whole for s in each])) for name, each in starts.items()}
    rows = []
    for name, each in starts.items():
        warm = np.concatenate([start.warm for start in each])
        medians = [np.median([getattr(s, part) for s in each]) for part in Start._fields[:4]]
        sizes = [np.median([getattr(s, part) for s in each]) / 1e6 for part in ("resident", "own")]
        row = [name, *(f"{ms:.0f}" for ms in medians), f"**{whole[name]:.0f}**"]
        row += [f"{np.median(warm):.1f}", f"{np.percentile(warm, 99):.1f}"]
        rows.append([*row, *(f"{size:.0f}" for size in sizes)])
    head = ["bundle", "exec, imports", "load", "trial query", "first answer", "in all", "warm p50"]
    head += ["warm p99", "resident, MB", "of these its own"]
    goals = [
        goal(f"exec to the first answer, {name}", whole[name], least)
        for name, least in MOST.items()
    ]
    return f"""
{QA_MIX}: *lexical* is BM25, *hybrid* BM25 and MiniLM (int8) rescored by neural Model 1, \
*cross-encoder* BM25 and MiniLM-L6 (int8) over its first 100. {ROUNDS} processes each, in turns, \
medians in ms; then {", ".join(map(str, WARM.values()))} queries warm. {MEMORY_MB} MB of memory, \
so 2 threads. A warm answer includes some 0.7 ms of the Runtime API's HTTP.

{table(head, rows)}

{chr(10).join(goals)}
- *Trial query*: the handler ranks once while it starts, so that models are open before anybody \
waits. *Resident* counts pages of mapped files, which processes share.
"""


def _start(path: Path, texts: list[str]) -> Start:
    with tempfile.TemporaryDirectory() as folder, RuntimeAPI() as api:
        begin = perf_counter()
        first = api.send(_event(texts[0]))
        with Function(
            api,
            Path(folder),
            RANKLET_BUNDLE=str(path),
            AWS_LAMBDA_FUNCTION_MEMORY_SIZE=str(MEMORY_MB),
            ORT_DISABLE_TELEMETRY="1",
        ) as function:
            api.waited_for.wait(30)
            initiated = perf_counter()
            _check(first.answer)
            answered = perf_counter()
            warm = []
            for text in texts[1:]:
                sent = perf_counter()
                _check(api.invoke(_event(text)))
                warm.append((perf_counter() - sent) * 1e3)
            (ready,) = function.wait_for("ready")
            status = Path(f"/proc/{function.process.pid}/status").read_text().split()
            resident, own = (
                int(status[status.index(name) + 1]) * 1024 for name in ("VmRSS:", "RssAnon:")
            )
    load, trial = ready["load_ms"], ready["first_query_ms"]
    imports = (initiated - begin) * 1e3 - load - trial
    return Start(imports, load, trial, (answered - initiated) * 1e3, warm, resident, own)


def _event(text: str) -> dict[str, object]:
    """Return a function URL's event."""
    return {
        "version": "2.0",
        "rawPath": "/rank",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": "POST", "path": "/rank"}},
        "body": json.dumps({"query": text, "k": 10}),
        "isBase64Encoded": False,
    }


def _check(answer: dict[str, object]) -> None:
    if answer.get("statusCode") != 200:
        raise ValueError(f"the function answered {answer}")
