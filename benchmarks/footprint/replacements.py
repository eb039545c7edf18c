"""A server that answers while its bundle is replaced again and again: failures, mixtures, times.

`ranklet serve` runs with two workers, and another process updates the bundle in place. Each update
replaces all documents by texts that name their generation. So an answer that mixes two generations,
or that belongs to one before, is recognised.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.report import table
from benchmarks.speed.http_load import HEAD
from ranklet.export.build import build

PACKAGES = ("httptools", "starlette", "uvicorn")
WORKERS, CONNECTIONS, DOCUMENTS = 2, 8, 1_000
REQUESTS, REPLACEMENTS = 20_000, 50
PER_CONNECTION = 100  # requests; a new connection may lead to another worker
MOST_FAILURES = 100  # before callers give up
PATIENCE = 120.0  # seconds for a server to start, or to serve a new bundle
WORDS = [a + e + b for a in "bdfgklmprt" for e in "aeiou" for b in "bdgklmnprs"]
# All documents have the last word, so no answer is empty.
QUERIES = [f"{one} {other} generation" for one, other in zip(WORDS[::7], WORDS[3::7], strict=False)]
TAKEN_OVER = b"was replaced and serves"

UPDATE = """
import sys, ranklet
for line in sys.stdin:
    ranklet.update(sys.argv[1], line.strip())
    print(flush=True)
"""


@dataclass
class Answers:
    """What callers got.

    Attributes:
        seconds: of each request.
        failed: requests that had no answer, or another status than 200.
        mixed: answers with hits of two generations, or with a text that is not of their id.
        older: answers of an earlier generation than the one before on the same connection.
        generations: those that were seen.
    """

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    older: int = 0
    generations: set[int] = field(default_factory=set)


def run(place: Place) -> str:
    """Ask a server as often without replacements, and during them."""
    place.work.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.work) as folder:
        quiet, replaced, delays = asyncio.run(
            measured(Path(folder), DOCUMENTS, REQUESTS, REPLACEMENTS)
        )
    rows = [
        [name, f"{len(each.seconds):,}", *(f"{ms:.2f}" for ms in _percentiles(each))]
        for name, each in (("none", quiet), (f"{REPLACEMENTS}", replaced))
    ]
    return f"""
{table(["replacements", "requests", "p50, ms", "p99, ms"], rows)}

- {WORKERS} workers, {CONNECTIONS} connections, {DOCUMENTS:,} documents, BM25. Each update in \
place replaced all documents, in a process next to the server and its callers.
- Requests that failed: **0**. Answers that mixed two versions of the bundle, or had another \
version's text: **0**. Answers of an earlier version after a later one from the same worker: **0**.
- From the end of an update until the last worker served the new bundle: \
**{np.median(delays):.2f} s** (median; at most {max(delays):.2f} s). Workers look once per second.
"""


async def measured(
    folder: Path, documents: int, requests: int, replacements: int
) -> tuple[Answers, Answers, list[float]]:
    """Ask a server without replacements, and during them.

    Args:
        folder: keeps the bundle, texts and the server's log.
        documents: of the bundle.
        requests: so many at least, without and with replacements.
        replacements: one begins when all workers serve the one before.

    Returns:
        The answers without and with replacements, and the seconds from the end of each update until
        the last worker served the new bundle.

    Raises:
        ValueError: a request failed, or an answer was mixed or of an earlier generation than the
            one before, or the server did not end well.
    """
    files = [folder / f"{generation}.jsonl" for generation in range(replacements + 1)]
    for generation, path in enumerate(files):
        path.write_text("".join(f"{json.dumps(each)}\n" for each in _texts(documents, generation)))
    bundle = Path(build(files[0], folder / "bundle.ranklet"))
    delays: list[float] = []
    async with _serving(bundle, folder / "log") as (port, log):
        async with _asked(port, requests) as quiet:
            pass
        async with _updating(bundle) as updating, _asked(port, requests) as replaced:
            for generation, path in enumerate(files[1:], start=1):
                await updating(path)
                begin = perf_counter()
                await log.lines(WORKERS * generation, TAKEN_OVER)
                delays.append(perf_counter() - begin)
    for answers in (quiet, replaced):
        if answers.failed or answers.mixed or answers.older:
            raise ValueError(
                f"of {len(answers.seconds)} requests {len(answers.failed)} failed, "
                f"{len(answers.mixed)} had mixed answers, {answers.older} answers of an earlier "
                f"version: {(answers.failed + answers.mixed)[:3]}"
            )
    return quiet, replaced, delays


def text_of(number: int, generation: int) -> str:
    """Return the text of a document: the words of its own, and its generation."""
    return f"{_words(number)} generation {generation}"


@cache
def _words(number: int) -> str:
    return " ".join(np.random.default_rng(number).choice(WORDS, 30).tolist())


def checked(body: bytes, answers: Answers, last: int) -> int:
    """Check an answer, count what is wrong, and return its generation.

    Args:
        body: JSON with hits.
        answers: get what is wrong.
        last: the generation of the answer before, from the same worker.
    """
    hits = json.loads(body)["hits"]
    found = {int(hit["text"].rpartition(" ")[2]) for hit in hits}
    right = all(
        hit["text"] == text_of(int(hit["id"]), generation) for generation in found for hit in hits
    )
    if len(found) != 1 or not right:
        answers.mixed.append(f"generations {sorted(found)}: {hits}"[:500])
        return last
    (generation,) = found
    answers.generations.add(generation)
    answers.older += generation < last
    return generation


def _texts(documents: int, generation: int) -> Iterator[dict[str, str]]:
    for number in range(documents):
        yield {"id": str(number), "text": text_of(number, generation)}


def _percentiles(answers: Answers) -> Sequence[float]:
    found: list[float] = (np.percentile(answers.seconds, [50, 99]) * 1e3).tolist()
    return found


class Log:
    """The lines that a server writes, without those of requests."""

    def __init__(self, path: Path) -> None:
        self._file, self._rest, self._lines = path.open("rb"), b"", list[bytes]()

    async def lines(self, times: int, part: bytes = b"") -> list[bytes]:
        """Return the lines that have a part, once there are so many.

        Raises:
            TimeoutError: they did not come.
        """
        async with asyncio.timeout(PATIENCE):
            while len(found := [line for line in self._lines if part in line]) < times:
                await asyncio.sleep(0.02)
                *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
                self._lines += [line for line in lines if b'"request_id"' not in line]
        return found

    def close(self) -> None:
        """Read no more."""
        self._file.close()


@asynccontextmanager
async def _serving(bundle: Path, path: Path) -> AsyncIterator[tuple[int, Log]]:
    """Run a server of a bundle; give its port and its log.

    Raises:
        ValueError: it did not end with status 0 on SIGTERM.
    """
    with path.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ranklet", "serve", str(bundle), "--port", "0",
            "--workers", str(WORKERS), stdout=file, env=_environment(),
        )  # fmt: skip
    log = Log(path)
    try:
        port = int(json.loads((await log.lines(1))[0])["message"].rpartition(":")[2])
        await log.lines(WORKERS, b" serves ")
        yield port, log
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            if await process.wait():
                raise ValueError(f"the server ended with {process.returncode}")
    finally:
        log.close()
        if process.returncode is None:
            process.kill()


@asynccontextmanager
async def _updating(bundle: Path) -> AsyncIterator[Callable[[Path], Awaitable[None]]]:
    """Run a process that updates a bundle in place; give what lets it add a file of documents."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", UPDATE, str(bundle),
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_environment(),
    )  # fmt: skip
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process has no input or no output")
    to, come = process.stdin, process.stdout

    async def update(path: Path) -> None:
        to.write(f"{path}\n".encode())
        if not await come.readline():
            raise ValueError("an update failed")

    try:
        yield update
    finally:
        to.close()
        await process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "RANKLET_DRAIN_SECONDS": "0"}


@asynccontextmanager
async def _asked(port: int, requests: int) -> AsyncIterator[Answers]:
    """Ask on all connections while the block runs, and until there are so many requests."""
    answers, numbers, enough = Answers(), count(), asyncio.Event()

    async def caller() -> None:
        while len(answers.failed) < MOST_FAILURES:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                last = -1
                for _ in range(PER_CONNECTION):
                    number = next(numbers)
                    if number >= requests and enough.is_set():
                        break
                    last = checked(await _answer(reader, writer, number, answers), answers, last)
                writer.close()
                await writer.wait_closed()
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                answers.failed.append(repr(error))
            if enough.is_set() and len(answers.seconds) >= requests:
                break

    callers = [asyncio.ensure_future(caller()) for _ in range(CONNECTIONS)]
    try:
        yield answers
        enough.set()
        await asyncio.gather(*callers)
    finally:
        for each in callers:
            each.cancel()


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int, answers: Answers
) -> bytes:
    """Ask one query and return the body of the answer.

    Raises:
        ValueError: its status is not 200.
    """
    body = json.dumps({"query": QUERIES[number % len(QUERIES)]}).encode()
    begin = perf_counter()
    writer.write(HEAD + str(len(body)).encode() + b"\r\n\r\n" + body)
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    content = await reader.readexactly(int(length))
    answers.seconds.append(perf_counter() - begin)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise ValueError(f"{head[:50]!r}: {content[:200]!r}")
    return content
