"""From the start of a process to an assistant's first answer, beside three other MCP servers.

The peers search the same texts locally: two rank Markdown files by BM25, and the reference server
for SQLite runs a full-text query on a table. Messages are written and read without a client
library, so that only the servers are measured.
"""

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.contest import environment
from benchmarks.harness.place import Place
from benchmarks.harness.processes import ONE_THREAD, fresh
from benchmarks.harness.report import goal, table
from ranklet.export.build import build

PEERS = ("mcp<2", "agents-docs", "mcp-fts5-starter", "mcp-server-sqlite")
COLLECTION, DOCUMENTS = "scifact", 1_000
WORD = "vitamin"  # of the query; every server finds documents that have it
SQL = "SELECT title, text FROM texts WHERE texts MATCH 'vitamin' ORDER BY rank LIMIT 10"
ROUNDS = 11
MOST_FIRST, MOST = 250.0, 400.0  # ms from the start to the answers to `initialize`, to a search

# Where our time goes: the same steps in one process.
STEPS = """
import numpy
lap("numpy")
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.service import serve
from ranklet.handlers.mcp.tools import call
from ranklet.runtime.bundle import Bundle
lap("ranklet")
call(Bundle(path), "search", {"query": word}, Limits())
lap("open and first search")
"""


class Contender(NamedTuple):
    """A server, and how it is asked for the texts that have a word."""

    command: list[str]
    tool: str
    arguments: dict[str, Any]
    variables: Mapping[str, str]


class Start(NamedTuple):
    """One start: ms to the first answer of all, ms to the search's, and processor ms in all."""

    first: float
    answer: float
    processor: float


def section(place: Place) -> str:
    """Start every server in turn, some rounds."""
    contenders = _contenders(place)
    starts: dict[str, list[Start]] = {name: [] for name in contenders}
    for turn in range(-1, ROUNDS):  # the first fills the page cache and is not counted
        for name, contender in contenders.items():
            start = started(contender, WORD)
            if turn >= 0:
                starts[name].append(start)
    given = {"path": contenders["ranklet mcp"].command[-1], "word": WORD}
    laps = [fresh(STEPS, given)["laps"] for _ in range(ROUNDS)]
    return report(starts, laps)


def started(contender: Contender, word: str) -> Start:
    """Start a server, search once, and stop it.

    Raises:
        RuntimeError: its answer is an error or does not contain the word.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = perf_counter()
    with subprocess.Popen(
        contender.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, encoding="utf-8",
        env={**os.environ, **ONE_THREAD, **contender.variables},
    ) as process:  # fmt: skip
        identity = {"name": "benchmark", "version": "1"}
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": identity}
        _asked(process, 1, "initialize", about)
        first = perf_counter()
        _say(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        wanted = {"name": contender.tool, "arguments": contender.arguments}
        result = _asked(process, 2, "tools/call", wanted)
        end = perf_counter()
        process.communicate(timeout=60)
    if result.get("isError") or word not in json.dumps(result).lower():
        raise RuntimeError(f"{contender.command}: {str(result)[:500]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Start((first - begin) * 1e3, (end - begin) * 1e3, processor * 1e3)


def report(starts: Mapping[str, list[Start]], laps: list[dict[str, float]]) -> str:
    """Return the section: a table of servers, and one of where our time goes."""
    medians = {name: Start(*np.median(each, axis=0).tolist()) for name, each in starts.items()}
    rows = [[name, *(f"{value:.0f}" for value in each)] for name, each in medians.items()]
    steps = [[step, f"{np.median([each[step] for each in laps]):.0f}"] for step in laps[0]]
    return f"""
{DOCUMENTS:,} documents of {COLLECTION}, medians of {len(laps)} fresh processes each, in turns, in \
ms from the start of the process to the answer to `initialize` and to the first search. \
*Processor* is the time of the processor for all of it, the end of the process included.

{table(["server", "first answer", "first search", "processor"], rows)}

Where our time goes:

{table(["step", "ms"], steps)}

{goal("process start to the answer to `initialize`", medians["ranklet mcp"].first, MOST_FIRST)}
{goal("process start to the first search's answer", medians["ranklet mcp"].answer, MOST)}
"""


def _contenders(place: Place) -> dict[str, Contender]:
    python = environment(place, "mcp-peers", PEERS)
    programs = python.parent
    texts = place.keep("mcp-texts", lambda path: _write_texts(place, path))
    bundle = place.keep("mcp.ranklet", lambda path: build(texts / "texts.jsonl", path))
    index = {"MCP_FTS5_CORPUS": str(texts / "docs"), "MCP_FTS5_DB": str(texts / "starter.db")}
    command = [str(programs / "mcp-fts5-starter"), "rebuild"]
    subprocess.run(command, env={**os.environ, **index}, check=True, capture_output=True)
    return {
        "ranklet mcp": Contender(
            [sys.executable, "-m", "ranklet", "mcp", str(bundle)], "search", {"query": WORD}, {}
        ),
        "agents-docs": Contender(
            [str(programs / "agents-docs"), "serve"],
            "search_docs",
            {"query": WORD, "category": "all", "top_k": 10},
            {"AGENTS_DOCS_PATH": str(texts / "docs"), "HOME": str(place.work)},
        ),
        "mcp-fts5-starter": Contender(
            [str(programs / "mcp-fts5-starter"), "serve"],
            "search",
            {"query": WORD, "limit": 10},
            index,
        ),
        "mcp-server-sqlite": Contender(
            [str(programs / "mcp-server-sqlite"), "--db-path", str(texts / "texts.db")],
            "read_query",
            {"query": SQL},
            {},
        ),
    }


def _write_texts(place: Place, folder: Path) -> None:
    """Write the documents as JSON lines, as Markdown files, and as a full-text table of SQLite."""
    (folder / "docs" / "custom").mkdir(parents=True)
    database = sqlite3.connect(folder / "texts.db")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5 (title, text)")
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as lines:
        for number, document in enumerate(place.collection(COLLECTION).documents()):
            if number == DOCUMENTS:
                break
            record = {"id": document.id, "title": document.title, "text": document.text}
            lines.write(f"{json.dumps(record)}\n")
            page = f"# {document.title}\n\n{document.text}\n"
            (folder / "docs" / "custom" / f"{number}.md").write_text(page, "utf-8")
            database.execute("INSERT INTO texts VALUES (?, ?)", (document.title, document.text))
    database.commit()
    database.close()


def _asked(
    process: "subprocess.Popen[str]", number: int, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    """Send a request and return its result; what else the server says is passed over."""
    _say(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    if process.stdout is None:
        raise RuntimeError("the server has no standard output")
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == number:
            if "result" not in message:
                raise RuntimeError(f"{method}: {message}")
            result: dict[str, Any] = message["result"]
            return result
    raise RuntimeError(f"the server ended before it answered {method}")


def _say(process: "subprocess.Popen[str]", message: dict[str, Any]) -> None:
    if process.stdin is None:
        raise RuntimeError("the server has no standard input")
    process.stdin.write(f"{json.dumps(message)}\n")
    process.stdin.flush()
