"""`ranklet train KIND`: its options are those of the kind's dataclass, and no others."""

import argparse
import os
import platform
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from ranklet.commands import main, train
from ranklet.commands.arguments import options_from
from ranklet.commands.train import DECIDED
from ranklet.runtime.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.options import Declared, options_of

Capture = pytest.CaptureFixture[str]


def defaults(kind: str) -> Any:
    return import_module(f"ranklet.training.rankers.{kind}.options").Options()


def flag_of(declared: Declared) -> str:
    return declared.option.flag or f"--{declared.path[-1].replace('_', '-')}"


def typed(kind: str) -> dict[str, Declared]:
    """Return what a kind's command line has, by flag."""
    options = options_of(defaults(kind))
    return {flag_of(each): each for each in options if each.option.flag is not None}


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="ranklet train")
    train.add_arguments(made)
    return made


def refused(parser: argparse.ArgumentParser, capsys: Capture, *arguments: str) -> str:
    """Check for exit status 2; return the message."""
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([arguments[0], "collection", "-o", "checkpoint", *arguments[1:]])
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_options_of_other_kinds_are_refused_with_a_list_of_its_own(
    parser: argparse.ArgumentParser, kind: str, capsys: Capture
) -> None:
    own = typed(kind)
    foreign = {flag for other in KINDS for flag in typed(other)} - set(own)
    assert foreign
    for flag in sorted(foreign):
        message = refused(parser, capsys, kind, flag)
        assert f"unrecognized arguments: {flag}" in message
        listed = message.splitlines()[-2]
        assert all(f" {each}" in listed for each in own)
        assert flag not in listed.replace(",", "").split()


@pytest.mark.parametrize("kind", KINDS)
def test_help_fits_on_a_screen_and_says_something_of_every_option(
    kind: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as ended:
        main(["train", kind, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert len(text.splitlines()) <= 70
    lines = text.splitlines()
    for flag in typed(kind):
        (line,) = (line for line in lines if f"{line.split()[0:1]}" == f"['{flag}']")
        assert len(line.split("  ")) >= 3, f"{flag} has no help"


def test_all_kinds_are_listed_with_a_line_each(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    lines = capsys.readouterr().out.splitlines()
    for kind in KINDS:
        assert any(line.startswith(f"    {kind}") for line in lines)


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_value_is_answered_with_the_allowed_ones(
    parser: argparse.ArgumentParser, kind: str, capsys: Capture
) -> None:
    for flag, (_, _, _, option) in typed(kind).items():
        if option.allowed:
            assert ", ".join(option.allowed) in refused(parser, capsys, kind, flag, "nonsense")
        elif option.kind in (int, float):
            for wrong in (str(option.least - 1), "nan", "x"):
                message = refused(parser, capsys, kind, f"{flag}={wrong}")
                assert f"number from {option.least}" in message


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_become_options(parser: argparse.ArgumentParser, kind: str) -> None:
    options = defaults(kind)
    assert options_from(options, vars(parser.parse_args([kind, "c", "-o", "x"]))) == options
    given = vars(parser.parse_args([kind, "c", "-o", "x", "--no-titles"]))
    assert options_from(options, given).titles is False
    if "--head" in typed(kind):
        given = vars(parser.parse_args([kind, "c", "-o", "x", "--head", "model1", "--seed", "3"]))
        found = options_from(options, given)
        assert (found.settings.head, found.seed) == ("model1", 3)


NEURAL = {
    "--accumulation": 1, "--evaluate-every": 0, "--patience": 0, "--seed": 0, "--device": "auto",
    "--minutes": None, "--steps": None, "--float32": True, "--resume": False,
}  # fmt: skip
WORDS = {"--language": "en", "--normaliser": "stem", "--forms": None}
TAUGHT = {"--teacher": None, "--teacher-scale": 1, "--teacher-loss": "margin"}
PAIRS = {**NEURAL, **TAUGHT, "--epochs": 1}
ENCODER = {**PAIRS, "--backbone": None}
TERMS = {
    **NEURAL, **TAUGHT, **WORDS, "--lr": 5e-4, "--epochs": 5, "--batch": 16,
    "--least": 2, "--query-log": "", "--field": "words", "--max-query-tokens": 20,
    "--max-document-tokens": 4000, "--hidden": 256, "--blocks": 2, "--heads": 32,
    "--kernels": 10, "--dropout": 0.2,
}  # fmt: skip
# Those of the papers or of docs/maintainers/log: a change of one changes what is trained.
DEFAULTS: dict[str, dict[str, Any]] = {
    "bm25": {
        **WORDS, "--field": "lemmas", "--measure": "MRR@10", "--tokenizer": None,
        "--title-boost": 1.0,
    },
    "model1": {
        **WORDS, "--field": "words", "--measure": "MRR@10", "--tokenizer": None, "--iterations": 5,
        "--threshold": 1e-3,
    },
    "neural_model1": {
        **ENCODER, "--lr": 3e-3, "--epochs": 12, "--batch": 16, "--negatives": "bm25",
        "--negatives-each": 7, "--max-query-tokens": 64, "--max-document-tokens": 256,
        "--vector": 64, "--embeddings": "backbone", "--objective": "cross_entropy",
        "--parametrisation": "network", "--measure": "MRR@10", "--tokenizer": None,
    },
    "dense": {
        **ENCODER, "--lr": 5e-5, "--batch": 32, "--negatives": "in-batch", "--negatives-each": 1,
        "--similarity": "keep",
        "--segments": "keep", "--loss": "softmax", "--temperature": 0.05, "--mine-every": 100,
        "--mine-among": 20_000,
        "--max-query-tokens": 32, "--max-document-tokens": 128,
    },
    "epic": {
        **ENCODER, "--lr": 5e-5, "--head-rate": 10, "--batch": 16, "--negatives": "bm25",
        "--negatives-each": 1,
        "--max-query-tokens": 32, "--max-document-tokens": 128, "--pairwise": False,
        "--start": None,
    },
    "splade": {
        **ENCODER, "--lr": 5e-5, "--head-rate": 10, "--batch": 16, "--negatives": "bm25",
        "--negatives-each": 1,
        "--queries": "network",
        "--sparse-queries": 3e-4, "--sparse-documents": 1e-4, "--max-query-tokens": 32,
        "--max-document-tokens": 128, "--start": None,
    },
    "colbert": {
        **ENCODER, "--lr": 3e-5, "--head-rate": 10, "--batch": 16, "--negatives": "bm25",
        "--negatives-each": 1,
        "--max-query-tokens": 32, "--max-document-tokens": 128, "--start": None,
        "--dimension": 128, "--similarity": "cosine", "--expansion": "none", "--no-markers": True,
        "--punctuation": False, "--no-special-tokens": True, "--loss": "in-batch",
    },
    "srm": {
        **{flag: each for flag, each in PAIRS.items() if flag != "--teacher-loss"},
        "--lr": 1e-3, "--batch": 32, "--negatives": "bm25", "--oracle": None,
        "--max-query-tokens": 32, "--max-document-tokens": 128,
        "--sub-embeddings": 10, "--mixing": "attention", "--window": 1,
        "--context": "oracle", "--idf": False, "--distil-steps": 400,
        "--distil-batch": 64, "--distil-tokens": 50, "--distil-texts": 20_000,
        "--distil-rate": 1e-2, "--no-fine-tuning": True,
    },
    "cross_encoder": {
        **ENCODER, "--lr": 2e-5, "--head-rate": 10, "--batch": 4, "--accumulation": 4,
        "--negatives": "bm25", "--negatives-each": 1, "--start": None, "--head": "vanilla",
        "--loss": "margin", "--learn-from": "documents", "--layers": 0,
        "--max-query-tokens": 32, "--max-tokens": 128, "--chunks": 1,
        "--chunking": "pieces", "--window": 150, "--stride": 75,
        "--combine": "head", "--marking": "none", "--mark-level": "document", "--mark-tokens": 128,
        "--expansion": "none",
    },
    "conformer_kernel": {
        **TERMS, "--field": "lemmas", "--hidden": 128, "--heads": 16, "--groups": 16,
        "--architecture": "ndrm3", "--attention": "separable", "--width": 31,
        "--pool-window": 300, "--pool-stride": 100, "--impacts": "uint8",
        "--scorer": "impacts", "--terms": 1000, "--candidates": 1200, "--floor": 0.0,
        "--form": "ranklet",
    },
    "tk": {
        **TERMS, "--attention": "full", "--architecture": "tk", "--kernels": 11, "--chunk": 40,
        "--overlap": 7, "--pool-window": 30, "--pool-stride": 2, "--regions": 3,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", DEFAULTS)
def test_the_defaults_are_these(kind: str) -> None:
    found = {flag: each.default for flag, each in typed(kind).items()}
    assert found.pop("--no-titles") is True
    if "--bm25" in found:
        assert (found["--bm25"].k1, found.pop("--bm25").b) == (0.9, 0.4)
    assert found == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [("srm", "--negatives", "in-batch"), ("cross_encoder", "--head", "imported")],
)
def test_help_offers_no_value_that_is_always_refused(
    kind: str, option: str, value: str, capsys: Capture
) -> None:
    with pytest.raises(SystemExit):
        main(["train", kind, "--help"])
    assert value not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["train", kind, "collection", "-o", "x", option, value])
    assert "allowed are" in capsys.readouterr().err


def test_options_that_contradict_each_other_are_refused() -> None:
    wrong: dict[str, list[dict[str, Any]]] = {
        "epic": [{"start": "a", "backbone": "b"}, {"pairwise": True, "negatives": "in-batch"}],
        "neural_model1": [{"tokenizer": "a"}],
        "dense": [{"steps": 9, "epochs": 1}],  # even if it is the default
        "bm25": [{"field": "wordpieces"}],
        "cross_encoder": [{"settings.head": "model1", "loss": "cross_entropy"}],
    }
    for kind, each in wrong.items():
        for given in each:
            with pytest.raises(InputError):
                options_from(defaults(kind), given)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("tk", {"network.regions": 2}, "--regions has no effect beside --architecture tk"),
        ("cross_encoder", {"settings.mark_level": "chunk"}, "beside --marking none"),
        ("cross_encoder", {"settings.window": 99}, "beside --chunking pieces"),
        ("cross_encoder", {"layers": 2}, "beside --head vanilla"),
        ("dense", {"temperature": 0.1, "similarity": "dot"}, "beside --similarity dot"),
        ("splade", {"sparse_queries": 0.1, "queries": "idf"}, "beside --queries idf"),
        ("srm", {"distil_rate": 0.1, "distil_steps": 0}, "beside --distil-steps 0"),
        ("bm25", {"tokenizer": "t.json"}, "beside --field lemmas"),
        ("conformer_kernel", {"network.groups": 4, "network.width": 0}, "beside --width 0"),
    ],
)
def test_an_option_without_effect_beside_another_is_refused(
    kind: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        options_from(defaults(kind), given)


# Prints how many pages were mapped while blocks of 40 MB were filled and freed, one after another.
BLOCKS = """
import resource, sys
from ranklet.commands.train import keep_freed_memory
kept = keep_freed_memory() if sys.argv[1] == "keep" else False
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for block in range(20):
    if block == 1:
        before = faults()
    filled = b"x" * (40 << 20)
    del filled
print(kept, faults() - before)
"""


def mapped(how: str, **variables: str) -> tuple[str, int]:
    free = {name: value for name, value in os.environ.items() if not name.startswith(DECIDED)}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKS, how], env={**free, **variables}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    kept, pages = done.stdout.split()
    return kept, int(pages)


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_freed_memory_is_used_again_without_new_pages() -> None:
    kept, pages = mapped("keep")
    assert kept == "True"
    assert pages < mapped("leave")[1] / 4


@pytest.mark.slow
def test_what_the_environment_says_of_the_allocator_stays() -> None:
    assert mapped("keep", MALLOC_ARENA_MAX="2")[0] == "False"
