"""Who imports whom among the product's modules, read from their source."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("runtime", "corpus", "training", "export", "handlers")
PRODUCT = {"ranklet": ROOT / "src" / "ranklet"} | {
    f"ranklet.{layer}": ROOT / layer for layer in LAYERS
}

Graph = Mapping[str, frozenset[str]]  # the modules that a module imports, by name


def modules(packages: Mapping[str, Path]) -> dict[str, Path]:
    """Return the file of every module in some packages, each with its folder, by its name."""
    found = {}
    for package, folder in packages.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


def import_graph(packages: Mapping[str, Path]) -> Graph:
    """Return the imports between the modules of some packages, each with its folder.

    Every import statement counts: at the top of a module, in a function, and for type checkers
    only. What `import_module` opens by a name that is made at run time does not.
    """
    paths = modules(packages)
    return {
        module: frozenset(_imports(path.read_text("utf-8"), set(paths))) - {module}
        for module, path in paths.items()
    }


def _imports(source: str, modules: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else str(node.module) for name in full]
        yield from (name for name in names if name in modules)


def cycles(graph: Graph) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or not."""
    reached = {module: _reached(graph, module) for module in graph}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    return sorted(map(list, groups))


def _reached(graph: Graph, start: str) -> set[str]:
    """Return all that a module imports, directly or not; itself where that leads back."""
    reached: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph[module]
    return reached
