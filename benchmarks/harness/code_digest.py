"""A digest of what code does, without its comments, docstrings, layout, imports and file names."""

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path


def code_digest(paths: Iterable[Path]) -> str:
    """Return the sha256 of the syntax trees of files, which does not depend on their order.

    A kept training stays valid when its code is reworded or moved, because neither changes what
    the code computes. A file without code, such as a package's docstring, does not count either.
    """
    trees = (_Bare().visit(ast.parse(path.read_text("utf-8"))) for path in paths)
    digests = sorted(_sha256(ast.dump(tree)) for tree in trees if tree.body)
    return _sha256("\n".join(digests))


class _Bare(ast.NodeTransformer):
    """Removes imports and texts that stand alone, which are docstrings."""

    def visit_Import(self, node: ast.Import) -> None:
        """Remove it."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Remove it."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Remove it if it is a text."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Remove it if only imports were in it, as in `if TYPE_CHECKING:`."""
        bare = self.generic_visit(node)
        return bare if node.body or node.orelse else None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
