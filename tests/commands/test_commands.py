"""Every command, through `ranklet.commands.main`: what it prints, writes and answers with."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, process, strict

from ranklet import __version__
from ranklet.commands import COMMANDS, main

if TYPE_CHECKING:
    from tests.conftest import Built


# ------------------------------------------------------------------------------ usage


@pytest.mark.parametrize(
    ("typed", "meant"), [("search", "rank"), ("bulid", "build"), ("diff", "compare"), ("zzz", "")]
)
def test_an_unknown_command_says_what_may_be_meant(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([typed, "a", "b"])
    told = capsys.readouterr().err
    assert f"there is no command {typed!r}" in told
    assert (f"did you mean {meant!r}?" in told) == bool(meant)


def test_without_a_command_it_shows_them_all(capsys: Capture) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n  {name} " not in shown] == []
    needed_first = ("\n  build", "measurement", "\n  judge", "training", "\n  export")
    assert sorted(needed_first, key=shown.index) == list(needed_first)


@pytest.mark.parametrize(("option", "text"), [("--help", "commands:"), ("--version", __version__)])
def test_help_and_version(capsys: Capture, option: str, text: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([option])
    assert ended.value.code == 0
    assert text in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"usage: ranklet {command}" in text
    assert "(default: [])" not in text
    assert not re.search(r"\(default[^)]*\) \(default", text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fly"],
        ["rank"],
        ["rank", "bundle"],
        ["rank", "bundle", "query", "--pipe", "x"],  # no abbreviations
        ["train", "bm25", "collection"],
        ["export", "-o", "x"],
        ["index", "bundle", "collection"],
        ["eval", "bundle"],
        ["explain", "bundle"],
        ["explain", "bundle", "query", "id", "--json", "--html", "x"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2(capsys: Capture, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert ": error: " in message
    assert len(message.splitlines()) <= 3


# ------------------------------------------------------------------------------ errors


def test_errors_are_one_line_and_status_1(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    bundle, collection, checkpoint = built.fused, built.collection.path, built.checkpoints["bm25"]
    nothing, out = tmp_path / "nothing", tmp_path / "out"
    wrong: dict[str, tuple[object, ...]] = {
        "give one of the two": (
            *("export", checkpoint, "-o", out),
            *("--texts", collection, "--probes", collection),
        ),
        "--queries needs --texts": ("export", checkpoint, "-o", out, "--queries", nothing),
        "probes of their own": ("export", checkpoint, "-o", out, "--texts", collection),
        "--as needs one model": ("export", checkpoint, "-o", out, "--as", "dense"),
        "models of other libraries only": ("export", checkpoint, "-o", out, "--label", "1"),
        "--split needs --probes": ("export", checkpoint, "-o", out, "--split", "dev"),
        "no checkpoint is one": ("export", checkpoint, "-o", out, "--prune", "5"),
        "no checkpoint has the setting 'ef'": ("export", checkpoint, "-o", out, "--ef", "5"),
        "not a name": ("export", f"a b={checkpoint}", "-o", out),
        "does not exist": ("index", bundle, nothing, "-o", out),
        "need --tokenizer": ("train", "bm25", collection, "-o", out, "--field", "wordpieces"),
        "no tokenizer.json": (
            *("train", "bm25", collection, "-o", out, "--field", "wordpieces"),
            *("--tokenizer", nothing),
        ),
        "unknown measure": ("train", "bm25", collection, "-o", out, "--measure", "x"),
        "is not the checkpoint of a BM25": (
            *("train", "model1", collection, "-o", out, "--tune", "test"),
            *("--bm25", built.checkpoints["model1"]),
        ),
    }
    for message, arguments in wrong.items():
        assert message in fails(capsys, *arguments)
    assert not out.exists()


# ------------------------------------------------------------------------------ as a process


@pytest.mark.slow
def test_the_command_runs_as_a_process(built: "Built", tmp_path: Path) -> None:
    done = process("rank", built.zipped, "café dough", "--json", "-k", 2)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(strict(done.stdout)["hits"]) == 2
    done = process("rank", tmp_path / "nothing", "dough")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ranklet rank: no bundle at")
    assert process("fly").returncode == 2


@pytest.mark.parametrize("ctrl_c_is", ["SIG_IGN", "SIG_DFL"])
def test_sigterm_ends_a_command_as_ctrl_c_does(built: "Built", ctrl_c_is: str) -> None:
    """Also in the background, where a shell has Ctrl-C ignored."""
    started = (
        "import os, signal, sys; signal.signal(signal.SIGINT, getattr(signal, sys.argv[1])); "
        "os.execv(sys.executable, [sys.executable, '-m', 'ranklet', *sys.argv[2:]])"
    )
    command = [sys.executable, "-c", started, ctrl_c_is, "rank", str(built.fused), "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"dough\n" * 2000)  # past what a pipe holds, so that it answers
        assert running.stdout.read(1)
        running.terminate()
        _, errors = running.communicate(timeout=300)
    assert errors == b"ranklet rank: interrupted; no result was written\n"
    assert running.returncode == 130


# ------------------------------------------------------------------------------ addresses


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "texts.csv"],
        ["index", "bundle", "texts.csv"],
        ["update", "bundle", "--delete", "1"],
        ["merge", "one", "other"],
        ["export", "checkpoint"],
        ["feed", "bundle"],
        ["train", "bm25", "collection"],
        ["train", "dense", "collection", "--force"],
        ["judge", "bundle", "queries.txt"],
        ["demo"],
        ["eval", "bundle", "collection", "--runs"],
        ["explain", "bundle", "query", "--html"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_no_command_writes_to_an_address(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """It is refused before anything is read: none of the other arguments exists."""
    monkeypatch.chdir(tmp_path)
    last = [] if arguments[-1] in ("--runs", "--html") else ["-o"]
    for scheme in ("s3", "https", "gs"):
        address = f"{scheme}://bucket/out.zip?signature=SECRET"
        error = fails(capsys, *arguments, *last, address)
        assert "is an address, where nothing can be written" in error
        assert "SECRET" not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["update", "ADDRESS", "--delete", "1"],
        ["index", "ADDRESS", "texts.csv", "-o", "new"],
        ["merge", "ADDRESS", "other", "-o", "new"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_bundle_is_made_of_one_at_an_address(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text("id,text\n1,dough\n")
    address = "http://127.0.0.1:9/b.zip"  # where nobody answers, and nobody is asked
    given = [address if each == "ADDRESS" else each for each in arguments]
    assert "download it" in fails(capsys, *given)
    assert [each.name for each in tmp_path.iterdir()] == ["texts.csv"]


EARLY = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "ranklet.commands.inspect":
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["inspect", "x"]
from ranklet.__main__ import main
main()
"""


def test_ctrl_c_before_a_command_begins_says_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
