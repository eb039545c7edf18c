"""Every command, through `ranklet.commands.main`: what it prints, writes and answers with."""

import errno
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranklet import __version__
from ranklet.commands import COMMANDS, main
from ranklet.runtime import Bundle
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.data.trec import read_run

if TYPE_CHECKING:
    from tests.conftest import Built

Capture = pytest.CaptureFixture[str]


def strict(text: str) -> Any:
    """Read JSON as others do: without NaN and Infinity, which Python alone would take."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def succeeds(capsys: Capture, *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def fails(capsys: Capture, *arguments: object) -> str:
    """Check for exit status 1 and one line of error; return the line."""
    assert main([str(each) for each in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"ranklet {arguments[0]}: ")
    assert "Traceback" not in captured.err
    return captured.err


# ------------------------------------------------------------------------------ usage


def test_without_a_command_it_shows_them_all(capsys: Capture) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n  {name} " not in shown] == []


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
    assert f"usage: ranklet {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["--fly"],
        ["rank"],
        ["rank", "bundle"],
        ["rank", "bundle", "query", "--fly"],
        ["rank", "bundle", "query", "-k", "many"],
        ["rank", "bundle", "query", "--pipe", "x"],  # no abbreviations
        ["train", "os", "collection", "-o", "x"],
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
    assert "usage: ranklet" in capsys.readouterr().err


# ------------------------------------------------------------------------------ the whole way


def test_the_whole_way(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    collection, tokenizer = built.collection.path, built.tokenizer
    bm25, pieces, model1 = (tmp_path / name for name in ("bm25", "pieces", "lr=1"))
    options: tuple[object, ...]
    text = succeeds(capsys, "train", "bm25", collection, "-o", bm25)
    assert "MRR@10" in text
    options = ("--field", "wordpieces", "--tokenizer", tokenizer, "--measure", "nDCG@10")
    assert "nDCG@10" in succeeds(capsys, "train", "bm25", collection, "-o", pieces, *options)
    options = ("--bm25", bm25, "--tune", "test", "--iterations", "2", "--max-queries", "9")
    succeeds(capsys, "train", "model1", collection, "-o", model1, *options)
    assert read_checkpoint(model1).training["tuning_queries"] == 9

    exported, indexed, fused = (tmp_path / f"{n}.ranklet" for n in ("exported", "indexed", "fused"))
    text = succeeds(capsys, "export", bm25, f"p={pieces}", f"m1={model1}", "-o", exported)
    assert text == f"bm25, p, m1 → {exported}\n"
    text = succeeds(capsys, "index", exported, collection, "-o", indexed)
    assert text == f"42 documents → {indexed}\n"
    options = ("--split", "test", "--rankers", "bm25,m1")
    assert "weights" in succeeds(capsys, "fuse", indexed, collection, "-o", fused, *options)
    packed = tmp_path / "fused.zip"
    succeeds(capsys, "fuse", indexed, collection, "-o", packed, *options)

    for bundle in (fused, packed):
        assert "bread" in succeeds(capsys, "rank", bundle, "how long to knead dough", "-k", 1)
        assert succeeds(capsys, "verify", bundle).endswith(f"{bundle} is whole\n")
        assert "ranker   m1: model1" in succeeds(capsys, "inspect", bundle)
    assert BundleFiles(packed).manifest.default_pipeline == "linear"

    # What is there stays there unless it is said otherwise.
    for arguments in (
        ("fuse", indexed, collection, "-o", fused, *options),
        ("index", exported, collection, "-o", indexed),
        ("export", bm25, "-o", exported),
        ("train", "bm25", collection, "-o", bm25),
    ):
        assert "--force" in fails(capsys, *arguments)
        succeeds(capsys, *arguments, "--force")


def test_a_path_with_an_equals_sign_is_a_path(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    path = shutil.copytree(built.checkpoints["bm25"], tmp_path / "k1=0.9" / "bm25")
    assert succeeds(capsys, "export", path, "-o", tmp_path / "a").startswith("bm25 →")
    assert succeeds(capsys, "export", f"x={path}", "-o", tmp_path / "b").startswith("x →")


def test_titles_can_be_left_out(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    arguments = ("index", built.exported, built.collection.path, "-o", tmp_path / "b")
    succeeds(capsys, *arguments, "--no-titles")
    assert Bundle(tmp_path / "b").rank_ids("seasoning", pipeline="bm25_words") == []


# ------------------------------------------------------------------------------ answers


def test_rank_prints_hits_for_people(built: "Built", capsys: Capture) -> None:
    text = succeeds(capsys, "rank", built.fused, "knead dough", "-k", 2, "--explain")
    assert text.startswith(" 1. ")
    assert "Baking bread" in text
    assert "knead" in text
    assert "ms)" in text
    nothing = succeeds(capsys, "rank", built.fused, "gnorp")
    assert nothing == "no hits for 'gnorp'\n"


def test_rank_says_what_there_was_no_time_for(built: "Built", capsys: Capture) -> None:
    options = ("knead dough", "--budget-ms", "0")
    text = succeeds(capsys, "rank", built.fused, *options)
    assert text.splitlines()[-1].startswith("no time for: rescore by model1; rescore by")
    found = strict(succeeds(capsys, "rank", built.fused, *options, "--json"))
    assert found["budget_spent"] is True
    assert found["left_out"] == ["rescore by model1", "rescore by model1_pieces"]
    assert found["hits"]


@pytest.mark.parametrize("query", ["knead dough", "gnorp", "café\udcff", "\0"])
@pytest.mark.parametrize("explain", [(), ("--explain",)])
def test_rank_prints_json_for_machines(
    built: "Built", capsys: Capture, query: str, explain: tuple[str, ...]
) -> None:
    options = ("-k", "3", "--json", "--pipeline", "rrf", *explain)
    found = strict(succeeds(capsys, "rank", built.fused, query, *options))
    assert set(found) == {"query", "hits", "ms", "budget_spent", "left_out", "truncated"}
    hits = Bundle(built.fused).rank(query, k=3, pipeline="rrf")
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == [(h.id, h.score) for h in hits]
    assert all(("explanation" in hit) == bool(explain) for hit in found["hits"])


def test_queries_may_come_from_standard_input(
    built: "Built", capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "knead dough\n\n  \ngnorp\r\ncafé\n".encode() + b"caf\xff\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    text = succeeds(capsys, "rank", built.fused, "-", "--json", "-k", 1)
    asked = [strict(line)["query"] for line in text.splitlines()]
    assert asked == ["knead dough", "gnorp", "café", "caf\ufffd"]


@pytest.mark.parametrize("pipeline", ["bm25", "bm25_pieces", "rrf", "linear"])
def test_explain_explains(built: "Built", capsys: Capture, pipeline: str) -> None:
    arguments = ("explain", built.fused, "knead dough", "bread", "--pipeline", pipeline)
    wanted = Bundle(built.fused).explain("knead dough", "bread", pipeline=pipeline)
    assert succeeds(capsys, *arguments) == f"{wanted}\n"
    assert strict(succeeds(capsys, *arguments, "--json")) == wanted.to_json()


MANY = "wash windows or knead dough with warm water"


def test_explain_explains_several_documents_or_the_best(built: "Built", capsys: Capture) -> None:
    bundle = Bundle(built.fused)
    wanted = [bundle.explained("knead dough", each) for each in ("bread", "blank")]
    text = succeeds(capsys, "explain", built.fused, "knead dough", "bread", "blank")
    assert text == "".join(f"{hit.id}  {hit.title}\n{hit.explanation}\n" for hit in wanted)
    lines = succeeds(capsys, "explain", built.fused, MANY, "-k", 3, "--json").splitlines()
    best = bundle.rank(MANY, k=3, explain=True)
    assert len(best) == 3
    assert [strict(line)["id"] for line in lines] == [hit.id for hit in best]
    assert [strict(line)["value"] for line in lines] == pytest.approx([hit.score for hit in best])
    assert succeeds(capsys, "explain", built.fused, "gnorp") == "no hits for 'gnorp'\n"


def test_explain_writes_a_page_whole_or_not_at_all(
    built: "Built", tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "page.html"
    arguments = ("explain", built.fused, MANY, "--html", target)
    assert succeeds(capsys, *arguments, "-k", 2) == f"2 explained → {target}\n"
    before = target.read_text("utf-8")
    assert before.count('<li class="hit">') == 2
    assert "fuse (linear)" in before
    succeeds(capsys, *arguments, "--pipeline", "bm25", "-k", 1)
    assert target.read_text("utf-8").count('<li class="hit">') == 1
    for wrong in (tmp_path, tmp_path / "nothing" / "page.html"):
        told = fails(capsys, "explain", built.fused, MANY, "--html", wrong)
        assert "no page can be written" in told
    monkeypatch.setattr(Path, "replace", raise_full)
    before = target.read_text("utf-8")
    assert main([str(each) for each in arguments]) == 1
    assert "No space left" in capsys.readouterr().err
    assert target.read_text("utf-8") == before
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def raise_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_inspect_shows_the_manifest(built: "Built", capsys: Capture) -> None:
    text = succeeds(capsys, "inspect", built.fused)
    for part in (
        "42 documents",
        "ranker   bm25_words: bm25",
        "pipeline linear (default): retrieve",
    ):
        assert part in text
    raw = strict(succeeds(capsys, "inspect", built.zipped, "--json"))
    assert raw["default_pipeline"] == "linear"
    assert "fields: none" in succeeds(capsys, "inspect", built.exported)


def test_verify_tells_what_is_right_and_what_is_wrong(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    text = succeeds(capsys, "verify", built.fused)
    assert "ok  ranker model1_pieces\n" in text
    damaged = Path(shutil.copytree(built.fused, tmp_path / "damaged"))
    raw = bytearray((damaged / "text/forms.npy").read_bytes())
    raw[-1] ^= 1
    (damaged / "text/forms.npy").write_bytes(raw)
    assert "text/forms.npy is not what was exported" in fails(capsys, "verify", damaged)


def test_eval_prints_a_table_and_writes_runs(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    runs = tmp_path / "a" / "runs"
    begin = ("eval", built.fused, built.collection.path, "--runs", runs)
    arguments = (*begin, "--pipelines", "bm25,linear", "--consistency", "3")
    text = succeeds(capsys, *arguments)
    assert [line.split()[0] for line in text.splitlines()[:3]] == ["system", "bm25", "linear"]
    assert "of the top 3 of linear, bm25 has 100.0%" in text
    told = strict(succeeds(capsys, *arguments, "--json"))
    assert told["consistency@3"] == {"linear": 1}
    assert sorted(each.name for each in runs.iterdir()) == ["bm25.run", "linear.run"]
    run, bundle = read_run(runs / "linear.run"), Bundle(built.fused)
    for query in built.collection.queries("test"):
        wanted = dict(bundle.rank_ids(query.text, pipeline="linear"))
        found = run.get(query.id, {})  # a query that finds nothing has no line
        assert list(found) == list(wanted)
        assert list(found.values()) == pytest.approx(list(wanted.values()), rel=1e-5)


def test_eval_as_json(built: "Built", capsys: Capture) -> None:
    arguments = ("eval", built.fused, built.collection.path, "--json", "--measures", "RR@10,P@1")
    found = strict(succeeds(capsys, *arguments))
    assert found["baseline"] == "bm25"
    assert set(found["systems"]) == set(BundleFiles(built.fused).manifest.pipelines)
    assert set(found["p"]) == {"RR@10", "P@1"}
    for options in (("--max-queries", "1"), ("--max-queries", "2"), ("--pipelines", "rrf")):
        strict(succeeds(capsys, *arguments, *options))  # too few to test, or alike: no NaN


# ------------------------------------------------------------------------------ errors


def test_errors_are_one_line_and_status_1(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    bundle, collection, checkpoint = built.fused, built.collection.path, built.checkpoints["bm25"]
    nothing, out = tmp_path / "nothing", tmp_path / "out"
    (tmp_path / "file").touch()
    wrong: dict[str, tuple[object, ...]] = {
        "no bundle at": ("rank", nothing, "dough"),
        "is empty": ("rank", bundle, " "),
        "k must be a whole number": ("rank", bundle, "dough", "-k", "-1"),
        "unknown pipeline 'x'": ("rank", bundle, "dough", "--pipeline", "x"),
        "unknown document id 'x'": ("explain", bundle, "dough", "x"),
        "ranklet index": ("rank", built.exported, "dough"),
        "has no manifest.json": ("inspect", tmp_path),
        "nor a zip": ("verify", tmp_path / "file"),
        "no checkpoint at": ("export", nothing, "-o", out),
        "--split is of --probes": ("export", checkpoint, "-o", out, "--split", "dev"),
        "no checkpoint is one": ("export", checkpoint, "-o", out, "--prune", "5"),
        "two rankers are named": ("export", checkpoint, f"bm25={checkpoint}", "-o", out),
        "not a name": ("export", f"a b={checkpoint}", "-o", out),
        "cannot be written": ("export", checkpoint, "-o", tmp_path / "file" / "x"),
        "no folder": ("index", bundle, nothing, "-o", out),
        "no corpus": ("index", bundle, tmp_path, "-o", out),
        "no split 'dev'": ("eval", bundle, collection, "--split", "dev"),
        "unknown measure 'x'": ("eval", bundle, collection, "--measures", "x"),
        "pipeline 'y'": ("eval", bundle, collection, "--pipelines", "y"),
        "above 0": ("eval", bundle, collection, "--max-queries", "0"),
        "k must be": ("eval", bundle, collection, "--depth", "-5"),
        "--consistency is 0": ("eval", bundle, collection, "--consistency", "0"),
        "two rankers or more": ("fuse", bundle, collection, "-o", out, "--rankers", "bm25"),
        "a number above 0": ("fuse", bundle, collection, "-o", out, "--max-queries", "-1"),
        "unknown field": ("train", "bm25", collection, "-o", out, "--field", "stems"),
        "need --tokenizer": ("train", "bm25", collection, "-o", out, "--field", "wordpieces"),
        "no tokenizer.json": (
            *("train", "bm25", collection, "-o", out, "--field", "wordpieces"),
            *("--tokenizer", nothing),
        ),
        "expected": ("train", "bm25", collection, "-o", out, "--measure", "x"),
        "iterations must be": (
            *("train", "model1", collection, "-o", out, "--iterations", "0", "--tune", "test"),
        ),
        "is not the checkpoint of a BM25": (
            *("train", "model1", collection, "-o", out, "--tune", "test"),
            *("--bm25", built.checkpoints["model1"]),
        ),
        "exists and is no checkpoint": ("train", "bm25", collection, "-o", tmp_path),
        "a repbert is for MRR@10": (
            *("train", "repbert", collection, "-o", out, "--measure", "nDCG@10"),
        ),
        "--start is for": ("train", "bm25", collection, "-o", out, "--start", checkpoint),
        "cannot be named 'rrf'": ("fuse", bundle, collection, "-o", out, "--name", "rrf"),
        "cannot be named 'bm25'": ("fuse", bundle, collection, "-o", out, "--name", "bm25"),
        "not a name of": ("fuse", bundle, collection, "-o", out, "--name", "a b"),
        "pipeline 'z'": ("bench", bundle, "--pipeline", "z"),
        "--cold is -1": ("bench", bundle, "--cold", "-1"),
        "-n is 0": ("bench", bundle, "-n", "0"),
    }
    wrong["unknown measure"] = wrong.pop("expected")
    for message, arguments in wrong.items():
        assert message in fails(capsys, *arguments)
    assert not out.exists()


def test_a_bundle_without_a_pipeline_says_so(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    succeeds(capsys, "export", built.checkpoints["model1"], "-o", tmp_path / "m")
    succeeds(capsys, "index", tmp_path / "m", built.collection.path, "-o", tmp_path / "i")
    assert "has no pipeline" in fails(capsys, "eval", tmp_path / "i", built.collection.path)
    assert "cannot retrieve" in fails(capsys, "rank", tmp_path / "i", "dough")


# ------------------------------------------------------------------------------ as a process


def process(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "ranklet", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        **options,
    )


def test_it_runs_as_a_process(built: "Built", tmp_path: Path) -> None:
    done = process("rank", built.zipped, "café dough", "--json", "-k", 2)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(strict(done.stdout)["hits"]) == 2
    done = process("rank", tmp_path / "nothing", "dough")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ranklet rank: no bundle at")
    assert process("fly").returncode == 2


@pytest.mark.parametrize("ctrl_c_is", ["SIG_IGN", "SIG_DFL"])
def test_sigterm_ends_it_as_ctrl_c_does(built: "Built", ctrl_c_is: str) -> None:
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
        _, errors = running.communicate(timeout=60)
    assert errors == b"ranklet rank: interrupted; no result was written\n"
    assert running.returncode == 130


def test_a_terminal_that_knows_no_accents_gets_an_answer(built: "Built") -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("rank", built.fused, "café crème", "-k", 1, env=plain)
    assert (done.returncode, done.stderr) == (0, "")
    assert "caf\\xe9" in done.stdout


def test_a_reader_that_has_had_enough_ends_it_quietly(built: "Built") -> None:
    command = [sys.executable, "-m", "ranklet", "rank", str(built.fused), "-", "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.close()
        _, errors = running.communicate(b"dough\n" * 500, timeout=60)
    assert errors == b""
    assert running.returncode in (0, 1)
