"""An option of a search is declared once, and is where anybody may ask for it."""

import ast
import json
import runpy
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import ranklet
from ranklet.runtime import Bundle, InputError
from ranklet.runtime.asks import Ask, ContextAsk, keywords

ROOT = Path(__file__).parents[2]
MADE = runpy.run_path(str(ROOT / "docs" / "site" / "options.py"))


def test_what_is_made_of_the_code_is_up_to_date() -> None:
    """If this fails, `make options` writes the files anew."""
    assert MADE["KEYWORDS"].read_text("utf-8") == MADE["keywords_module"]()
    for name in ("options", "http_fields", "names"):
        made = runpy.run_path(str(ROOT / "docs" / "site" / f"{name}.py"))
        assert made["PAGE"].read_text("utf-8") == made["page"](), name


@pytest.mark.parametrize(
    ("function", "kind", "own"),
    [
        (Bundle.rank, Ask, ["self", "query", "documents"]),
        (Bundle.rank_batch, Ask, ["self", "queries"]),
        (Bundle.rank_async, Ask, ["self", "query", "documents"]),
        (Bundle.context, ContextAsk, ["self", "query", "tokens"]),
        (ranklet.rank, Ask, ["query", "documents", "bundle"]),
        (ranklet.context, ContextAsk, ["query", "tokens", "bundle"]),
    ],
)
def test_python_shows_all_options(function: Any, kind: type[Ask], own: list[str]) -> None:
    shown = signature(function).parameters
    options = [name for name in keywords(kind) if name not in own]
    assert list(shown) == [*own, *options]
    assert all(shown[name].default == getattr(kind, name) for name in options)
    assert all(f"\n    {name}: " in function.__doc__ for name in options)


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    rows = [
        {"id": f"d{at}", "title": f"Bread {at}", "text": f"Knead the dough {at} times.",
         "year": 2015 + at, "date": f"20{15 + at}-05-31", "vector": [1, at, 2]}
        for at in range(9)
    ]  # fmt: skip
    return ranklet.build(rows, tmp_path_factory.mktemp("dated") / "b.ranklet", fields={"title": 2},
                         vectors="vector")  # fmt: skip


@pytest.mark.parametrize("name", keywords(Ask))
def test_the_example_of_an_option_works(dated: Bundle, name: str) -> None:
    value: Any = ast.literal_eval(keywords(Ask)[name].example)
    beside: dict[str, Any] = {"group_by": "year"} if name == "group_size" else {}
    assert value != getattr(Ask, name)
    found = dated.rank("knead dough", **beside, **{name: value})
    assert len(found) or name in ("offset", "min_score", "min_relevance")  # which leave out all


def test_an_unknown_option_is_no_argument(dated: Bundle) -> None:
    wrong: dict[str, Any] = {"ofset": 1}
    with pytest.raises(TypeError, match=r"rank\(\) has no keyword argument 'ofset' \(did you mean"):
        dated.rank("dough", **wrong)
    with pytest.raises(TypeError, match=r"context\(\) has no keyword argument 'explain'"):
        dated.context("dough", explain=True)  # type: ignore[call-arg]


def test_what_is_empty_is_as_if_nothing_was_given(dated: Bundle) -> None:
    empty: dict[str, Any] = {"pin": [], "hide": ()}
    plain = dated.rank("knead dough")
    assert dated.rank("knead dough", **empty).hits == plain.hits
    assert dated.rank("knead dough", ["dough"], **empty)[0].id == "0"
    assert dated.rank("knead dough", facets=[]).total == 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pin": ["a"], "hide": ["a"]}, "'a' is pinned and hidden"),
        ({"sort": ["year"], "diversity": 0.5}, "sort and diversity both order the hits"),
        ({"hide": [7]}, "hide has 7; give texts, such as"),
        ({"pin": map(str, range(10_001))}, "pin has 10,001 entries; at most 10,000 are allowed"),
        ({"explain": 1}, "explain is 1; it must be True or False"),
        ({"context": "page"}, "context is 'page'; allowed are neighbours, section"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Ask(**options)


PLACES = ("python", "help", "types", "page", "flag", "HTTP", "OpenAPI", "context", "assistant")
FOUND = """
import sys, json, runpy, inspect, argparse
from importlib.util import module_from_spec, spec_from_file_location
path, root, at = sys.argv[1:]
spec = spec_from_file_location("ranklet.runtime.asks", path)
asks = sys.modules["ranklet.runtime.asks"] = module_from_spec(spec)
spec.loader.exec_module(asks)
import ranklet
from ranklet.commands import context, rank
from ranklet.handlers.api.field import Route
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe
from ranklet.handlers.api.reading import Request
from ranklet.handlers.mcp.tools import tools
made, bundle = runpy.run_path(root + "/docs/site/options.py"), ranklet.load(at)
flags = argparse.ArgumentParser()
rank.add_arguments(flags)
body = {"query": "dough", "toy": True}
schemas = describe(Limits(), keyed=False)["components"]["schemas"]
(search, *_) = tools(bundle, Limits())
print(json.dumps({
    "python": "toy" in inspect.signature(ranklet.rank).parameters,
    "help": "toy: play with a toy." in ranklet.Bundle.rank.__doc__,
    "types": "    toy: bool" in made["keywords_module"](),
    "page": "| `toy` | `False` | `toy=True` | `--toy` |" in made["page"](),
    "flag": flags.parse_args([at, "dough", "--toy"]).toy,
    "HTTP": Request(Route.RANK, body, Limits()).rest()["toy"] and len(bundle.rank(**body)) > 0,
    "OpenAPI": "toy" in schemas["RankRequest"]["anyOf"][0]["properties"],
    "context": "toy" in schemas["ContextRequest"]["properties"],
    "assistant": search.schema["properties"]["toy"]["description"] == "Play with a toy.",
}))
"""


def test_a_new_option_is_one_field(dated: Bundle, tmp_path: Path) -> None:
    """A copy of the module with one line more, in a process that has loaded nothing else."""
    lines = (ROOT / "runtime" / "asks.py").read_text("utf-8")
    toy = '    toy: bool = declare(False, "play with a toy", bool, example="True")\n'
    (tmp_path / "asks.py").write_text(lines.replace("    k: int = ", f"{toy}    k: int = ", 1))
    done = subprocess.run(
        [sys.executable, "-c", FOUND, str(tmp_path / "asks.py"), str(ROOT), str(dated)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == dict.fromkeys(PLACES, True)
