"""What `ranklet rank` prints for a query, on this machine and on the nodes of a cluster."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.console import printable
from ranklet.runtime.errors import InputError, RankletError
from ranklet.runtime.hits import in_line

if TYPE_CHECKING:
    from ranklet.corpus.distributed.options import EngineOptions
    from ranklet.runtime import Ranking

ROWS = 10  # maximum number of rows that are printed of an explanation
BLOCK = 64  # queries that a node ranks at a time


def answers(bundle: Bundle, settings: Mapping[str, Any]) -> Callable[[str], str]:
    """Return what ranks a query and returns the text to print.

    Args:
        bundle: the collection.
        settings: ``rank`` has the arguments of `Bundle.rank`, and ``json`` says whether the text is
            JSON.
    """
    options = settings["rank"]

    def answer(query: str) -> str:
        ranking = bundle.rank(query, **options)
        if settings["json"]:
            return ranking.to_json()
        return as_text(ranking, options["offset"], wanted=options["k"] != 0)

    return answer


def open_answers(path: Path, settings: Mapping[str, Any]) -> Callable[[bytes], bytes]:
    """Return what answers a block of queries on a node; see `answers`.

    A block is a list in JSON, and so is what it becomes: the answers before the first query that
    cannot be ranked, and that one's error, null if there is none.
    """
    from ranklet.corpus.distributed.node import described

    answer = answers(Bundle(path, device=settings["device"], strict=True), settings)

    def block(queries: bytes) -> bytes:
        found: list[str] = []
        try:
            found.extend(map(answer, json.loads(queries)))  # those before an error, too
        except RankletError as error:
            return json.dumps([found, described(error)]).encode()
        return json.dumps([found, None]).encode()

    return block


def answers_on(
    engine: "EngineOptions", bundle: Path, queries: Iterable[str], settings: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what is printed for each query, in order, ranked on a cluster.

    Raises:
        RankletError: a query cannot be ranked; the answers before it were yielded.
        ClusterError: the cluster cannot be used.
    """
    from ranklet.corpus.distributed.cluster import Task, connected
    from ranklet.corpus.distributed.node import error_of

    Bundle(bundle)  # raises here what is wrong with it
    with connected(engine) as cluster:
        if cluster is None:
            raise InputError("answers on a cluster need --engine ray")
        task = Task(open_answers, {**settings, "device": engine.device}, bundle)
        blocks = (json.dumps(block).encode() for block in _blocks(iter(queries)))
        for _, made in cluster.each(task, blocks):
            found, fault = json.loads(made)
            yield from found
            if fault is not None:
                raise error_of(fault)


def _blocks(queries: Iterator[str]) -> Iterator[list[str]]:
    while block := list(islice(queries, BLOCK)):
        yield block


def as_text(ranking: "Ranking", offset: int = 0, *, wanted: bool = True) -> str:
    """Return a ranking as readable text, whose first hit has the place after `offset`.

    If there is none, the text says why, and not that nothing was found where no hit was `wanted`.
    """
    lines = [
        f"searched for {better!r} instead of {word!r}"
        for word, better in ranking.corrections.items()
    ]
    if not len(ranking):
        after = f" after the first {offset:,}" if offset else ""
        why = after if wanted else ", because -k is 0"
        nothing = f"no hits for {ranking.query!r}{why}"
        return _laid_out([*lines, nothing, *ignored_words(ranking)])
    for place, hit in enumerate(ranking, offset + 1):
        lines.append(f"{place:2}. {hit.score:8.4f}  {hit.name}  {hit.title}".rstrip())
        lines.append(f"              {hit.snippet}")
        if hit.metadata:
            lines.append(f"              {in_line(hit.metadata)}")
        if hit.explanation is not None:
            tree = hit.explanation.text(ROWS, " (--json, or explain --html FILE, shows all)")
            lines += [f"      {line}" for line in tree.splitlines()]
    total = sum(timing.ms for timing in ranking.timings)
    lines.append(f"({total:.1f} ms)")
    for ranker, count in ranking.truncated.items():
        lines.append(f"truncated because longer than {ranker} reads: {count}")
    if ranking.left_out:
        lines.append(f"no time for: {'; '.join(ranking.left_out)}")
    return _laid_out([*lines, *ignored_words(ranking)])


def _laid_out(lines: Iterable[str]) -> str:
    return "\n".join(map(printable, lines))


def ignored_words(ranking: "Ranking") -> list[str]:
    """Return the line that names the ignored words of a query, in a list; [] if there are none."""
    return [f"left out as stop words: {', '.join(ranking.ignored)}"] if ranking.ignored else []
