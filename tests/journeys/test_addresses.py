"""Every command that reads a bundle takes an address for it, or says that it does not."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, process, succeeds
from tests.judging import judging
from tests.range_server import RangeServer

from ranklet.commands import COMMANDS

if TYPE_CHECKING:
    from tests.conftest import Built

SIGNATURE = "?X-Amz-Signature=5ec.ret"
QUERY = "knead dough"
# By command, what follows the bundle.
READS: dict[str, tuple[str, ...]] = {
    "complete": ("knead",),
    "compare": ("BUNDLE", "COLLECTION/queries.test.jsonl", "--pipelines", "bm25,linear", "--json"),
    "context": (QUERY, "--json"),
    "eval": ("COLLECTION", "--pipelines", "bm25"),
    "explain": (QUERY, "bread", "--pipeline", "bm25"),
    "gaps": ("COLLECTION/queries.test.jsonl", "--pipeline", "bm25"),
    "feed": ("--ranker", "bm25", "--query", QUERY),
    "inspect": (),
    "log": (),
    "publish": ("FOLDER/m.db#docs", "--ranker", "bm25", "--force"),
    "rank": (QUERY, "--pipeline", "bm25", "--json"),
    "verify": (),
}
REFUSES: dict[str, tuple[str, ...]] = {"export": ("-o", "FOLDER/e.zip")}
SERVE = {"serve", "mcp", "judge"}  # until they are ended
# They make a bundle, which is refused where their targets are tested, or read none.
OTHERS = {
    "build", "calibrate", "compact", "demo", "index", "irds", "learn", "merge", "restore", "sync",
    "synonyms", "table", "train", "update",
}  # fmt: skip


@pytest.fixture
def address(built: "Built", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))
    with RangeServer({f"/{built.zipped.name}": built.zipped.read_bytes()}) as server:
        yield server.address(f"/{built.zipped.name}") + SIGNATURE


@pytest.fixture
def following(built: "Built", tmp_path: Path) -> Callable[[tuple[str, ...]], list[str]]:
    """What puts the paths of this test into arguments."""
    paths = {"COLLECTION": str(built.collection.path), "FOLDER": str(tmp_path)}
    paths["BUNDLE"] = str(built.zipped)
    return lambda words: [
        re.sub("|".join(paths), lambda found: paths[found[0]], word) for word in words
    ]


def test_every_command_is_tried() -> None:
    assert READS.keys() | REFUSES.keys() | SERVE | OTHERS == COMMANDS.keys()


@pytest.mark.parametrize("command", READS)
def test_a_command_reads_an_address_as_it_reads_a_path(
    command: str, built: "Built", address: str, capsys: Capture,
    following: Callable[[tuple[str, ...]], list[str]],
) -> None:  # fmt: skip
    if command == "publish":
        pytest.importorskip("milvus_lite")
    words = following(READS[command])
    near, far = (succeeds(capsys, command, each, *words) for each in (built.zipped, address))
    assert "5ec.ret" not in far
    assert measured(far.replace(address.partition("?")[0] + "?…", str(built.zipped))) == measured(
        near
    )


def measured(output: str) -> str:
    """Return an output without its times."""
    return re.sub(r"\d+\.\d+(e-\d+)?", "…", output)


@pytest.mark.parametrize("command", REFUSES)
def test_a_command_that_needs_a_file_says_so(
    command: str, address: str, capsys: Capture, tmp_path: Path,
    following: Callable[[tuple[str, ...]], list[str]],
) -> None:  # fmt: skip
    error = fails(capsys, command, address, *following(REFUSES[command]))
    assert "5ec.ret" not in error
    assert "disk" in error
    assert [each.name for each in tmp_path.iterdir()] in ([], ["cache"])


@pytest.mark.slow
def test_hits_are_judged_from_an_address(address: str, tmp_path: Path) -> None:
    with judging(address, ["knead dough"], tmp_path / "judged", "--pipeline", "bm25") as judge:
        assert judge.ask("/rank", {"query": "knead dough"})[1]["hits"]
        assert "5ec.ret" not in judge.end()


@pytest.mark.slow
def test_an_assistant_is_served_from_an_address(address: str) -> None:
    ended = process("mcp", address, input="")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
