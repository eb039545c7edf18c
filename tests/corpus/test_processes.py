"""What several processes do is what one does, in order, and none that ends is overlooked."""

import hashlib
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ranklet.corpus import processes
from ranklet.corpus.processes import Block, Work, each, one_pool
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.ground.variables import Variable
from ranklet.workflows.build import build

TEXTS = {
    "en": [
        "The café in the street isn't open today",
        "WHO says: C++ and 1,000.5 at five o'clock",
        "the naïve cats were in the house",
        "a cat was at the open door of the house",
        "",
    ],
    "de": ["Der Dokumentenbaum", "ein Dokument und ein Baum", "Bäume, Dokumente", "Straße", ""],
    "ja": ["東京都に住む", "東京タワーと京都", "京都に行く", "ファイルを開く", ""],
}


def open_counter(settings: Mapping[str, Any]) -> Work:
    """Return what adds to each string how many blocks its process has done before."""
    done = 0

    def work(block: Block) -> Block:
        nonlocal done
        if settings.get("fatal") in block:
            os.kill(os.getpid(), signal.SIGKILL)
        if settings.get("faulty") in block:
            raise ValueError("not this one")
        done += 1
        return [str(os.getpid()).encode(), *(each + str(done).encode() for each in block)]

    return work


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MANY", 0)
    monkeypatch.setattr(processes, "BLOCK", 12)
    monkeypatch.setenv(Variable.THREADS, "3")


@pytest.mark.slow
@pytest.mark.usefixtures("several")
def test_results_come_in_order_and_a_process_keeps_what_it_knows() -> None:
    blocks = [[str(at).encode(), b"", bytes(at)] for at in range(40)]
    found = list(each(open_counter, {}, blocks))
    done = dict[bytes, int]()
    for at, (process, first, second, third) in enumerate(found):
        done[process] = done.get(process, 0) + 1
        count = str(done[process]).encode()
        assert (first, second, third) == (f"{at}".encode() + count, count, bytes(at) + count)
    assert len(done) == 3
    assert str(os.getpid()).encode() not in done


@pytest.mark.slow
@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("end", ["fatal", "faulty"])
def test_a_process_that_ends_is_an_error(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[processes._Process]()
    init = processes._Process.__init__

    def kept(self: processes._Process, *options: Any) -> None:
        init(self, *options)
        made.append(self)

    monkeypatch.setattr(processes._Process, "__init__", kept)
    blocks = [[str(at).encode()] for at in range(9)]
    with pytest.raises(CollectionError, match=r"has ended .*RANKLET_THREADS=1"):
        list(each(open_fatal, {end: "5"}, blocks))
    assert len(made) == 3
    assert all(one._process.poll() is not None for one in made)


def open_fatal(settings: Mapping[str, Any]) -> Work:
    """Return `open_counter`'s work, whose settings name a string that ends the process."""
    return open_counter({name: value.encode() for name, value in settings.items()})


@pytest.mark.usefixtures("several")
def test_a_process_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/none/python")
    with pytest.raises(CollectionError, match=r"no process can be started .*RANKLET_THREADS=1"):
        list(each(open_counter, {}, [[b"a"]]))
    monkeypatch.setattr(sys, "frozen", True, raising=False)  # the executable is another program
    assert list(each(open_counter, {}, [[b"a"]])) == [[str(os.getpid()).encode(), b"a1"]]


@pytest.mark.slow
@pytest.mark.usefixtures("several")
def test_who_stops_early_leaves_no_process() -> None:
    found: Iterator[Block] = each(open_counter, {}, ([b"a"] for _ in range(99)))
    process = int(next(found)[0])
    found.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.slow
@pytest.mark.usefixtures("several")
def test_a_pool_does_several_orders_at_a_time_and_forgets_what_is_done() -> None:
    blocks = [[b"a"]] * 9
    with one_pool():
        for _ in range(2):
            first, second = each(open_counter, {}, blocks), each(open_counter, {}, blocks, spared=1)
            found = list(zip(first, second, strict=True))
            for results in zip(*found, strict=True):
                done = Counter[bytes]()
                for process, counted in results:
                    done[process] += 1
                    assert counted == b"a%d" % done[process]
            processes_ = {int(process) for both in found for process, _ in both}
            assert len(processes_) <= 3
    for process in processes_:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.slow
@pytest.mark.parametrize("language", TEXTS)
def test_processes_change_no_byte(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": f"{at}", "text": text} for at, text in enumerate(TEXTS[language] * 9)][1:]
    rows = [row for row in rows if row["text"]]
    alone = Path(build(rows, tmp_path / "alone.ranklet"))
    monkeypatch.setattr(processes, "MANY", 0)
    monkeypatch.setattr(processes, "BLOCK", 99)
    monkeypatch.setenv(Variable.THREADS, "2")
    assert BundleFiles(alone).manifest.languages == (language,)
    several = Path(build(rows, tmp_path / "several.ranklet"))
    assert _digests(several) == _digests(alone)


def _digests(bundle: Path) -> dict[str, str]:
    return {
        path.relative_to(bundle).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in bundle.rglob("*.npy")
    }
