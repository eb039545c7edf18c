"""What the files of a checkout have: lines of code per room, and names of public functions."""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("runtime", "corpus", "training", "export", "handlers", "src/ranklet", "infra")
OTHERS = ("tests", "benchmarks", "docs")
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
# Participles that do not end in "ed". Those that are verbs, too, as "read" and "set", are left out.
_PARTICIPLES = """
    begun bought bound broken brought built caught chosen done drawn driven forgotten found given
    gone grown held hidden kept known left lost made meant said seen sent shown sold spent taken
    taught thought thrown told won worn written
"""
_NOUNS = frozenset(("bed", "embed", "feed", "need", "proceed", "seed", "speed"))


def count_code_lines(source: str) -> int:
    """Return how many lines of a module have code: no comment, docstring or blank line counts."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body:
                value = each.value if isinstance(each, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    documented.update(range(each.lineno, (each.end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def count_rooms() -> dict[str, int]:
    """Return the lines of code of each room: a folder of a top-level folder, or what lies loose.

    Folders of tests and benchmarks are counted whole.
    """
    rooms: Counter[str] = Counter()
    for top in (*PRODUCT, *OTHERS):
        for path in sorted((ROOT / top).rglob("*.py")):
            inside = path.relative_to(ROOT / top).parts[:-1]
            room = "/".join((top, *inside[:1])) if top in PRODUCT else top
            rooms[room] += count_code_lines(path.read_text("utf-8"))
    return dict(rooms)


def is_participle(name: str) -> bool:
    """Return whether a function is called by a participle, or has the word "of".

    >>> [is_participle(name) for name in ("joined_rows", "kept", "rows_of", "read_rows", "embed")]
    [True, True, True, False, False]
    """
    first, *_ = words = name.split("_")
    called = first in _PARTICIPLES.split() or (first.endswith("ed") and first not in _NOUNS)
    return called or "of" in words


def find_participles() -> Iterator[str]:
    """Yield public functions and methods of the product that `is_participle`, as file and name.

    Properties are values, and functions inside of functions are nobody else's, so neither counts.
    """
    for top in PRODUCT:
        for path in sorted((ROOT / top).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            bodies = [tree.body] + [c.body for c in tree.body if isinstance(c, ast.ClassDef)]
            for each in (each for body in bodies for each in body):
                if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                decorators = {ast.unparse(one).rpartition(".")[2] for one in each.decorator_list}
                if decorators & {"property", "cached_property", "setter"}:
                    continue
                if not each.name.startswith("_") and is_participle(each.name):
                    yield f"{path.relative_to(ROOT).as_posix()} {each.name}"
