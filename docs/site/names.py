"""Write docs/api/index.md: every public name with its signature and one line, as plain text.

The other pages of docs/api name what the built documentation shows in full; this page is made of
the same names, so code-hosting sites show it, too. ``make options`` runs it, and a test compares
the page with what it would write. Nothing is imported but packages, because sources are read.
"""

import ast
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "api"
PAGE = PAGES / "index.md"
FROM_HERE = "## Every name\n"
NAMED = re.compile(r"^::: (\S+)(?:\n    options: \{(.*)\})?$", re.MULTILINE)
WITH_METHODS = ("Bundle", "Context", "Query", "Ranking")  # others are shown in the built pages
SHOWN = 6  # arguments of a signature

Defined = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def page() -> str:
    """Return the page, whose first part is written by hand."""
    before, _, _ = PAGE.read_text("utf-8").partition(FROM_HERE)
    order = dict.fromkeys(re.findall(r"\]\((\w+)\.md\)", before))
    seen: set[tuple[str, str]] = set()
    made = "".join(section(name, seen) for name in order)
    return f"{before}{FROM_HERE}{made}\n`make options` writes this part.\n"


def section(name: str, seen: set[tuple[str, str]]) -> str:
    """Return the table of the names that a page has and no earlier one, and remember them."""
    text = (PAGES / f"{name}.md").read_text("utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    named = (row for each in NAMED.finditer(text) for row in table(each[1], each[2]))
    rows = [row for row in dict.fromkeys(named) if row not in seen]
    seen.update(rows)
    lines = "\n".join(f"| `{signature}` | {about.rstrip('.')} |" for signature, about in rows)
    return f"\n### {title}\n\n| name | |\n|---|---|\n{lines}\n"


def table(path: str, options: str | None) -> Iterator[tuple[str, str]]:
    """Yield signature and first line of what a page names: a module's members, or one name."""
    if (place := source(path)) is None:
        module, _, name = path.rpartition(".")
        yield from found(module, name)
        return
    listed = re.search(r"members: \[(.*?)\]", options or "")
    names = listed[1].split(", ") if listed else public(ast.parse(place.read_text("utf-8")))
    for name in names:
        if not name.startswith("__"):
            yield from found(path, name)


def source(module: str) -> Path | None:
    """Return a module's file, None if there is no such module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # what it is in is no package
        return None
    return Path(spec.origin) if spec and spec.origin else None


def public(tree: ast.Module) -> list[str]:
    """Return the names of ``__all__``, or else those that are defined here."""
    for line in tree.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__":
            return list(ast.literal_eval(line.value))
    defined = (each.name for each in tree.body if isinstance(each, Defined))
    return [name for name in defined if not name.startswith("_")]


def found(module: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the row of a name, which may come from another module, and those of its methods."""
    place = source(module)
    if place is None:
        sys.exit(f"docs/api names {module}.{name}, and there is no such module")
    tree = ast.parse(place.read_text("utf-8"))
    for line in ast.walk(tree):
        if isinstance(line, ast.ImportFrom) and line.module:
            for alias in line.names:
                if (alias.asname or alias.name) == name:
                    yield from found(line.module, alias.name)
                    return
    lines = [each for each in ast.walk(tree) if isinstance(each, Defined) and each.name == name]
    if not lines:
        sys.exit(f"docs/api names {module}.{name}, which is not defined there")
    line = lines[0]
    kind = module.split(".")[-2]  # of functions that each kind of ranker has
    shown = f"{kind}.{name}" if ".rankers." in module else name
    yield row(shown, line)
    if isinstance(line, ast.ClassDef) and name in WITH_METHODS:
        for each in line.body:
            if isinstance(each, Defined) and about(each) and is_method(each):
                yield row(f"{name}.{each.name}", each)


def row(name: str, line: Defined) -> tuple[str, str]:
    """Return a name with its arguments, and the first line of what it says of itself."""
    signature = f"{name}({', '.join(arguments(line))})"
    return signature.replace("|", "\\|"), about(line).replace("|", "\\|")


def is_method(line: Defined) -> bool:
    """Return whether something in a class is for callers, and no property."""
    decorated = any("property" in ast.unparse(each) for each in line.decorator_list)
    return not line.name.startswith("_") and not decorated


def about(line: Defined) -> str:
    """Return the first line of a docstring."""
    return (ast.get_docstring(line) or "").partition("\n")[0].replace("``", "`")


def arguments(line: Defined) -> list[str]:
    """Return the arguments of a call, the first ones if there are many."""
    if isinstance(line, ast.ClassDef):
        made = [e for e in line.body if isinstance(e, Defined) and e.name == "__init__"]
        if made:
            return arguments(made[0])
        fields = [each for each in line.body if isinstance(each, ast.AnnAssign)]
        given = [
            ast.unparse(each.target) for each in fields
            if "ClassVar" not in ast.unparse(each.annotation)
        ]  # fmt: skip
        given = [each for each in given if not each.startswith("_")]
    else:
        at = line.args
        given = [
            each.arg for each in [*at.posonlyargs, *at.args] if each.arg not in ("self", "cls")
        ]
        given += [f"*{at.vararg.arg}"] if at.vararg else ["*"] if at.kwonlyargs else []
        given += [each.arg for each in at.kwonlyargs]
        given += [f"**{at.kwarg.arg}"] if at.kwarg else []
    return given if len(given) <= SHOWN + 1 else [*given[:SHOWN], "…"]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
