"""What every command does to a terminal, a pipe, a full disk, and where there is no output."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands.running import process

from ranklet.workflows.build import build

EVIL = "\x1b[2J\x1b]0;t\x07\x9b31m\x7f\r\n\u202e\u2028"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a source whose ids, titles, texts and metadata try to control a terminal."""
    path = tmp_path_factory.mktemp("output") / "my\x1b[31m texts.jsonl"
    rows: list[dict[str, str]] = [
        {
            "id": f"1{EVIL}",
            "title": f"title{EVIL}forged",
            "text": f"dough {EVIL}",
            f"n{EVIL}": EVIL,
        },
        {"id": "2", "title": "café 🍕", "text": "dough 東京", f"n{EVIL}": "v"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def bundle(texts: Path) -> Path:
    return Path(build(texts, texts.parent / "my 'search'.ranklet"))


def run(command: str, *arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run `ranklet` with arguments by a shell's line, in which it is "$@"."""
    line = [sys.executable, "-m", "ranklet", *map(str, arguments)]
    shell = ["sh", "-c", command, "sh", *line]
    return subprocess.run(shell, capture_output=True, timeout=300, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.slow
def test_no_document_controls_the_terminal(texts: Path, bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "\x1b[31mx\r.txt").write_bytes(b"\xff\xfea")
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(json.dumps({"id": f"1{EVIL}", "text": EVIL}) * 2, "utf-8")
    for arguments in (
        ("build", texts, "-o", tmp_path / "b\x1b[2J"),
        ("build", tmp_path / "names", "-o", tmp_path / "c"),
        ("build", wrong, "-o", tmp_path / "c"),
        ("rank", bundle, "dough", "--explain"),
        ("rank", bundle, "dough", "--json"),
        ("inspect", bundle),
        ("rank", bundle, "dough", f"--fly{EVIL}"),
        ("rank", f"no{EVIL}", "dough"),
    ):
        done = process(*arguments)
        assert FORBIDDEN.findall(done.stdout + done.stderr) == [], arguments
    hits = process("rank", bundle, "dough").stdout.splitlines()
    assert not [line for line in hits if line.startswith("forged")]
    assert any("café 🍕" in line for line in hits)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp932"])
def test_json_is_json_on_every_output(bundle: Path, encoding: str) -> None:
    variables = {**os.environ, "PYTHONIOENCODING": encoding}
    for command, name in (("rank", "hits"), ("explain", "id"), ("inspect", "metadata")):
        query = [] if command == "inspect" else ["東京"]
        done = run('"$@"', command, bundle, *query, "--json", env=variables)
        read = json.loads(done.stdout.decode("utf-8"))
        assert name in read
        if command == "rank":
            assert (read["hits"][0]["title"], read["hits"][0]["text"]) == ("café 🍕", "dough 東京")
    assert run('"$@"', "rank", bundle, "東京", env=variables).returncode == 0


@pytest.mark.slow
def test_closed_outputs_end_no_work(texts: Path, bundle: Path, tmp_path: Path) -> None:
    for number, closed in enumerate((">&- 2>&-", "| true")):
        target = tmp_path / f"{number}.ranklet"
        assert run(f'"$@" {closed}', "build", texts, "-o", target).returncode == 0
        assert process("verify", target).returncode == 0
    for arguments in (("rank", bundle, "dough"), ("verify", bundle)):
        done = run('"$@" >&-', *arguments)
        assert (done.returncode, done.stderr) == (0, b"")
    done = run('"$@" <&-', "rank", bundle, "-")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.slow
def test_a_reader_who_goes_ends_a_command_quietly(bundle: Path) -> None:
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "ranklet", "rank", str(bundle), "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE
    ) as running:
        os.close(writer)
        os.close(reader)
        assert running.stdin is not None
        running.stdin.write(b"dough\n" * 2000)  # it ends, though more could be asked
        running.stdin.flush()
        assert running.wait(timeout=300) == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""
    done = run('{ "$@"; echo $? >&2; } | :', "verify", bundle)
    assert done.stderr == b"0\n"
    done = run('{ "$@"; echo $? >&2; } | :', "verify", bundle.parent)
    assert done.stderr.startswith(b"ranklet verify: ")
    assert done.stderr.endswith(b"\n1\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it stands for a disk that is full")
@pytest.mark.slow
def test_an_answer_that_cannot_be_written_is_an_error(bundle: Path) -> None:
    done = run('"$@" >/dev/full', "rank", bundle, "dough")
    assert done.returncode == 1
    expected = b"ranklet rank: [Errno 28] No space left on device where the result is written, or "
    assert done.stderr.startswith(expected)
    assert done.stderr.count(b"\n") == 1
    assert run('"$@" >/dev/full 2>&1', "rank", bundle, "dough").returncode == 1


@pytest.mark.slow
def test_suggested_commands_can_be_pasted(texts: Path, tmp_path: Path) -> None:
    for name in ("my search; it's $HOME", "-x"):
        done = process("build", texts, f"--output={name}", cwd=tmp_path)
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("try: ")]
        typed = shlex.split(line.removeprefix("try: "))
        assert process(*typed[1:], cwd=tmp_path).returncode == 0, line


@pytest.mark.slow
def test_a_process_without_a_console_can_build_and_rank(tmp_path: Path) -> None:
    code = (
        "import sys; sys.stdin = sys.stdout = sys.stderr = None\n"
        "import ranklet\n"
        "from ranklet.commands import main\n"
        "ranklet.build(['hello world', 'good bye'], 'b.ranklet')\n"
        "assert len(ranklet.load('b.ranklet').rank('hello')) == 1\n"
        "assert main(['rank', 'b.ranklet', 'hello']) == 0\n"
        "assert main(['rank', 'no', 'hello']) == 1\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
