"""`ranklet train KIND`: its options are those of the kind's dataclass, and no others."""

import argparse
from importlib import import_module
from typing import Any

import pytest

from ranklet.commands import main, train
from ranklet.commands.arguments import options_from
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Declared, list_options
from ranklet.runtime.kinds import KINDS

Capture = pytest.CaptureFixture[str]


def defaults(kind: str) -> Any:
    return import_module(f"ranklet.training.rankers.{kind}.options").Options()


def name_flag(declared: Declared) -> str:
    return declared.option.flag or f"--{declared.path[-1].replace('_', '-')}"


def typed(kind: str) -> dict[str, Declared]:
    """Return what a kind's command line has, by flag."""
    options = list_options(defaults(kind))
    return {name_flag(each): each for each in options if each.option.flag is not None}


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
    places = [
        next(at for at, line in enumerate(lines) if line.startswith(f"    {kind}"))
        for kind in sorted(KINDS, key=lambda name: KINDS[name].of_papers)
    ]
    assert places == sorted(places)  # kinds to use come first


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
