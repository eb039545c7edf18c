"""What others wait for while two callers send a server the most expensive requests that it allows.

One server process with two threads, and two connections that repeat one request each, so that both
threads are busy without a pause. Another caller asks ordinary queries, one after another.
"""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.speed.http_load import HEAD, server
from ranklet.export.build import build

PACKAGES = ("httptools", "starlette", "uvicorn")
DOCUMENTS, WORDS, OWN_WORDS = 100_000, 20_000, 30
TAGS = 500
ASKED = 60  # ordinary queries per attack
ATTACKERS = 2
FILTERS = 16  # of an attack, twice as many as a server keeps
MOST_P99 = 1.0  # seconds
COMMON = "alpha beta gamma delta epsilon zeta eta theta"  # every text begins so
WHOLE, PART = "opens-all", "opens-half"
CODE = ("benchmarks/speed/hostile_requests.py", "corpus/indexing", "export", "runtime/text")


def run(place: Place) -> str:
    """Attack a server by each kind of request."""
    bundle = place.keep("hostile.ranklet", partial(_build, count=DOCUMENTS), CODE)
    return measure(bundle, ASKED)


def measure(bundle: Path, asked: int) -> str:
    """Return the section's body for a bundle and a number of ordinary queries per attack."""
    rows, worst = [], 0.0
    keys = {"RANKLET_API_KEY": WHOLE, "RANKLET_API_KEY_FILTERS": json.dumps({PART: {"open": True}})}
    with server(bundle, {**keys, "RANKLET_POOL": "2"}) as (_, port):
        for name, (key, bodies) in {"none": (WHOLE, []), **attacks()}.items():
            attack = [_request(key, body) for body in bodies]
            times, attacking, statuses = asyncio.run(_besides(port, attack, asked))
            p50, p99 = np.percentile(times, [50, 99])
            worst = max(worst, float(p99))
            own = f"{np.median(attacking) * 1e3:,.0f}" if attacking else ""
            answered = ", ".join(f"{count:,} × {status}" for status, count in statuses.items())
            rows.append([name, own, answered, f"{p50 * 1e3:,.1f}", f"{p99 * 1e3:,.0f}"])
    head = ["repeated by two callers", "p50, ms", "answers", "others' p50, ms", "others' p99, ms"]
    return f"""
{DOCUMENTS:,} texts of {len(COMMON.split()) + OWN_WORDS} words, of which eight are in all of them; \
BM25 over lemmas; two threads. {asked} ordinary queries of two words beside each attack.

{table(head, rows)}

{goal("the largest p99 of others", worst, MOST_P99, "s")}
"""


def attacks() -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Return by name the key and the bodies of the requests that cost most.

    Filters are kept, so those of an attack differ.
    """
    common = COMMON.split()
    cuts = [(begin, size) for size in (2, 3, 4, 5) for begin in range(len(common) - size + 1)][:20]
    phrases = [common[begin : begin + size] for begin, size in cuts]
    said = " ".join(f'"{" ".join(each)}"' for each in phrases)
    unsaid = " ".join(f'"{" the ".join(each)}"' for each in phrases)
    excluded = " ".join(f'-"{" ".join(each)}"' for each in phrases)
    prefixes = " ".join(f"w{number}*" for number in range(110, 130))
    long = " ".join(chr(97 + number % 26) * 39 for number in range(50))
    near = " ".join(f"w{number}x" for number in range(1000, 1050)).translate(_AS_LETTERS)
    words = " ".join(f"w{number}" for number in range(1_600))
    tags = [f"tag {number}" for number in range(10_000)]
    whole, part, plain = partial(_asked, WHOLE), partial(_asked, PART), "alpha w1"

    def filtered(name: str) -> tuple[str, list[dict[str, Any]]]:
        conditions = [{"tags": {name: tags[at:]}} for at in range(FILTERS)]
        return WHOLE, [{"query": plain, "where": each} for each in conditions]

    pairs = [
        [{"year": 1900 + (at + turn) % 100, "tags": {"has": tags[at % TAGS]}} for at in range(500)]
        for turn in range(FILTERS)
    ]
    return {
        "20 phrases that all texts have": whole(query=said, syntax=True),
        "20 phrases that texts have but for a stop word": whole(query=unsaid, syntax=True),
        "20 excluded phrases": whole(query=f"{plain} {excluded}", syntax=True),
        "20 prefixes under a key's filter": part(query=prefixes, syntax=True),
        "50 words of 39 letters, corrected": whole(query=long, typos=True),
        "50 words of 6 letters, corrected": whole(query=near, typos=True),
        "`has all` of 10,000 values": filtered("has all"),
        "`has any` of 10,000 values": filtered("has any"),
        "1,000 conditions on two fields": (
            WHOLE,
            [{"query": plain, "where": {"or": each}} for each in pairs],
        ),
        "1,600 words, 100 hits explained and highlighted": whole(
            query=words, k=100, explain=True, highlight=True
        ),
        "1,600 words, 1,000 hits": whole(query=words, k=1_000),
        "1,000 groups of a field with two values": whole(query=plain, k=1_000, group_by="open"),
    }


def _asked(key: str, **body: Any) -> tuple[str, list[dict[str, Any]]]:
    return key, [body]


_AS_LETTERS = str.maketrans("0123456789", "abcdefghij")


def _request(key: str, body: Mapping[str, Any]) -> bytes:
    """Return a request to rank."""
    data = json.dumps(body).encode()
    head = HEAD.replace(b"Content-Length", f"X-API-Key: {key}\r\nContent-Length".encode())
    return head + str(len(data)).encode() + b"\r\n\r\n" + data


async def _besides(
    port: int, attack: Sequence[bytes], asked: int
) -> tuple[list[float], list[float], dict[int, int]]:
    """Ask ordinary queries beside an attack, which begins first.

    Returns:
        seconds of each ordinary query, of each request of the attack, and its answers by status.
    """
    attacking, statuses = list[float](), dict[int, int]()

    async def repeat() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in cycle(attack):
            begin = perf_counter()
            status = await _answered(reader, writer, request)
            attacking.append(perf_counter() - begin)
            statuses[status] = statuses.get(status, 0) + 1

    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    queries = _queries(np.random.default_rng(3))
    await _answered(reader, writer, _request(WHOLE, {"query": next(queries)}))
    attackers = [asyncio.create_task(repeat()) for _ in range(ATTACKERS if attack else 0)]
    await asyncio.sleep(0.1)
    times = []
    for _ in range(asked):
        begin = perf_counter()
        status = await _answered(reader, writer, _request(WHOLE, {"query": next(queries)}))
        times.append(perf_counter() - begin)
        if status != 200:
            raise ValueError(f"an ordinary query was answered with {status}")
    for each in attackers:
        each.cancel()
    failed = await asyncio.gather(*attackers, return_exceptions=True)
    if others := [each for each in failed if not isinstance(each, asyncio.CancelledError)]:
        raise ValueError(f"an attack ended: {others[0]!r}")
    writer.close()
    await writer.wait_closed()
    return times, attacking, statuses


async def _answered(reader: StreamReader, writer: StreamWriter, request: bytes) -> int:
    """Send a request and return the status of its answer."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length))
    return int(head.split()[1])


def _queries(random: np.random.Generator) -> Iterator[str]:
    while True:
        yield f"w{random.integers(WORDS)} w{random.integers(200)}"


def _build(target: Path, count: int) -> None:
    build(_rows(count), target)


def _rows(count: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(7)
    weights = 1 / (np.arange(WORDS) + 10)
    for number in range(count):
        own = (f"w{each}" for each in random.choice(WORDS, OWN_WORDS, p=weights / weights.sum()))
        yield {
            "id": str(number),
            "text": f"{COMMON} {' '.join(own)}",
            "open": number % 2 == 0,
            "year": 1900 + int(random.integers(100)),
            "tags": [f"tag {each}" for each in random.integers(TAGS, size=3)],
        }
