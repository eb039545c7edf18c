"""Write what follows from the options of a search: the page of them, and keywords for mypy.

``make options`` runs it, and a test compares both files with what it would write.
"""

import ast
import re
from inspect import getsource
from pathlib import Path

from ranklet.runtime.asks import FRONTS, MILVUS, OWN, Ask, ContextAsk, keywords, told
from ranklet.runtime.ground.options import Option

ROOT = Path(__file__).parents[2]
KEYWORDS, PAGE = ROOT / "runtime" / "keywords.py", ROOT / "docs" / "options.md"
_HEAD = '''"""The keywords of `rank` and `context` for type checkers; `make options` writes it."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from ranklet.runtime.asks import BoostLike, Facets, Where
from ranklet.runtime.pipelines.pipeline import PipelineLike


class ContextOptions(TypedDict, total=False):
    """The options of `ContextAsk`, of which `tokens` is an argument of its own."""

{context}


class RankOptions(ContextOptions, total=False):
    """The options of `Ask`."""

{ask}
'''
_PAGE = """# Options of a search

Every option has one name: as a keyword of `rank` in Python, as a field of `POST /rank`, and as an
argument of the tool `search` of assistants. On a command line it is a flag of `ranklet rank`. A
server bounds some by a [limit](serving.md#variables).

| option | default | example in Python | flag | limit of a server | not for |
|---|---|---|---|---|---|
{rows}

`context`, `ranklet context` and `POST /context` take them, too, except
{without}. There `unique` is on
unless it is false, and `tokens` (`--tokens`, default {budget}) is {tokens}

## What they mean

{meanings}

`make options` writes this page.
"""


def types_of(kind: type[Ask]) -> dict[str, str]:
    """Return the types of a class's own fields, as its source has them."""
    lines, names = ast.walk(ast.parse(getsource(kind))), keywords(kind)
    return {
        line.target.id: str(line.annotation.value)
        if isinstance(line.annotation, ast.Constant)
        else ast.unparse(line.annotation)
        for line in lines
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if line.target.id in names
    }


def keywords_module() -> str:
    """Return the module that type checkers read."""
    types, both = types_of(Ask), keywords(ContextAsk)
    context = [f"    {name}: {each}" for name, each in types.items() if name in both]
    ask = [f"    {name}: {each}" for name, each in types.items() if name not in both]
    return _HEAD.format(ask="\n".join(ask), context="\n".join(context))


def page(kind: type[Ask] = Ask) -> str:
    """Return the page of all options."""
    options = keywords(kind)
    rows = "\n".join(row(name, each, getattr(kind, name)) for name, each in options.items())
    meanings = "\n".join(f"- `{name}`: {linked(told(kind, name))}" for name in options)
    return _PAGE.format(
        rows=rows,
        meanings=meanings,
        without=", ".join(f"`{each}`" for each in ContextAsk.WITHOUT),
        budget=ContextAsk.tokens,
        tokens=linked(told(ContextAsk, "tokens")),
    )


def linked(text: str) -> str:
    """Return a text with links to the pages that it names."""
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](\1.md)", text).replace("``", "`")


def row(name: str, option: Option, default: object) -> str:
    """Return an option's row of the table."""
    shown = "" if default is None else f"`{default}`"
    fronts = FRONTS if option.fronts is None else option.fronts
    lacking = [each for each in FRONTS if each not in fronts]
    lacking += [{OWN: "own texts", MILVUS: "Milvus"}[each] for each in option.unfit]
    cells = [
        f"`{name}`",
        shown,
        f"`{name}={option.example}`",
        f"`{option.name_flag(name, default)}`",
        f"`RANKLET_MAX_{option.limit.upper()}`" if option.limit else "",
        ", ".join(lacking),
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    KEYWORDS.write_text(keywords_module(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
