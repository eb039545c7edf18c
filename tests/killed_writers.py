"""Writers of one bundle that are killed again and again, and lose nothing.

``python -m tests.killed_writers FOLDER WRITERS DOCUMENTS KILLS`` prints what came of it.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.updates import Record, documents_of, first_records, held, record, seeded

import ranklet
from ranklet.runtime.rankers.verification import verify
from ranklet.runtime.search.local import LocalSearch

AT_ONCE = 8  # documents of one write, at most
PAUSE = 0.002  # seconds between two looks at the writers
LATEST = 0.03  # seconds after which a writer is killed, at most: somewhere in a write


class Writer:
    """A process that writes documents, and notes how many of them are acknowledged.

    Args:
        path: of the bundle.
        name: of the writer, with which the ids of its documents begin.
        documents: what it writes, in turn.
    """

    def __init__(self, path: Path, name: str, documents: Sequence[Record]) -> None:
        self._path, self._documents, self.process = path, documents, 0
        self._noted = path.with_name(f"{name}.noted")
        self._noted.touch()

    @property
    def acknowledged(self) -> list[str]:
        """The ids of the documents whose writes have returned."""
        lines = self._noted.read_text().split()
        return [each["id"] for each in self._documents[: int(lines[-1]) if lines else 0]]

    def start(self) -> None:
        """Write, in a process of its own, what is not acknowledged."""
        self.process = os.fork()
        if not self.process:
            try:
                self._write(len(self.acknowledged))
            finally:
                os._exit(1)

    def _write(self, done: int) -> None:
        bundle, rng = ranklet.open(self._path, writable=True), Random(os.getpid())
        with self._noted.open("a") as noted:
            while done < len(self._documents):
                count = rng.randint(1, AT_ONCE)
                bundle.add(self._documents[done : done + count])  # type: ignore[attr-defined]
                done = min(done + count, len(self._documents))
                print(done, file=noted, flush=True)
        os._exit(0)


def write_and_kill(path: Path, writers: list[Writer], documents: int, kills: int) -> int:
    """Let writers write, kill one after each share of the documents; return how often.

    Raises:
        AssertionError: a document is lost that was acknowledged, or a writer has failed.
    """
    rng, killed, running = seeded(0), 0, dict.fromkeys(writers, True)
    for each in writers:
        each.start()
    while running:
        time.sleep(PAUSE)
        for each in list(running):
            process, status = os.waitpid(each.process, os.WNOHANG)
            if process and status == 0:
                del running[each]
            elif process:
                assert os.WTERMSIG(status) == signal.SIGKILL, status
                each.start()
        done = [id_ for each in writers for id_ in each.acknowledged]
        if running and killed < kills and len(done) * (kills + 1) >= documents * (killed + 1):
            time.sleep(rng.random() * LATEST)
            os.kill(rng.choice(list(running)).process, signal.SIGKILL)
            killed += 1
            lost = set(done) - set(ids(path))
            assert not lost, lost
    return killed


def ids(path: Path) -> list[str]:
    """Return the ids of all documents that a bundle has now, each once."""
    search = ranklet.load(path)._search
    assert isinstance(search, LocalSearch)
    return search.all_ids()


def main(folder: Path, count: int, each: int, kills: int) -> None:
    """Write `each` documents by each of `count` writers, and compare what there is with a build."""
    rng, path = seeded(1), folder / "live"
    begin = time.perf_counter()
    records = first_records(rng)
    ranklet.build(records, path)
    ranklet.load(path).rank("mouse")  # what is imported now is not imported by every writer
    texts = {f"w{at}": [record(f"w{at}-{no}", rng) for no in range(each)] for at in range(count)}
    writers = [Writer(path, name, own) for name, own in texts.items()]
    killed = write_and_kill(path, writers, count * each, kills)
    known = {one["id"]: one for one in [*records, *(one for own in texts.values() for one in own)]}
    there = ids(path)
    assert set(there) == set(known), set(there) ^ set(known)
    assert len(ranklet.load(path)) == len(known), "a document is there twice"
    list(verify(path))
    ranklet.open(path, writable=True).compact()  # type: ignore[attr-defined]
    order = dict.fromkeys(one.id for one in documents_of(path))
    ranklet.build([known[id_] for id_ in order], folder / "scratch")
    assert held(path) == held(folder / "scratch"), "compacted bytes differ from a build's"
    took = time.perf_counter() - begin
    sys.stdout.write(
        json.dumps({"documents": len(there), "killed": killed, "seconds": round(took, 1)}) + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
