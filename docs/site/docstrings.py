"""An extension of griffe: docstrings as the code has them become what the pages show.

Doctests become blocks of code. An option, which is declared by a call such as
``integer(10, "number of hits", 1)``, shows its help text and its default.
"""

import ast
import re
from typing import Any

from griffe import Attribute, Docstring, ExprCall, Extension, Module, Object

DOCTEST = re.compile(r"(?:^[ ]*>>> .*\n?(?:^[ ]*(?!>>> )\S.*\n?)*)+", re.MULTILINE)
FLAG = re.compile(r"\s*# doctest: .*$", re.MULTILINE)
DECLARING = {
    "integer",
    "number",
    "one_of",
    "text",
    "switch",
    "read_from",
    "declare",
}  # default, …, help


class ReadableDocstrings(Extension):
    """Rewrite docstrings before other extensions see them, such as the one for dataclasses."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Change the docstrings of a package and of everything in it."""
        rewrite(pkg)


def rewrite(thing: Object) -> None:
    """Change the docstring of a module, class, function or attribute, and of its members."""
    if isinstance(thing, Attribute):
        show_help(thing)
    if thing.docstring is not None:
        thing.docstring.value = with_code_blocks(thing.docstring.value)
    for member in thing.members.values():
        if isinstance(member, Object):  # and no alias
            rewrite(member)


def show_help(attribute: Attribute) -> None:
    """Give an option its help text as docstring, and its default as value."""
    call = attribute.value
    if isinstance(call, ExprCall) and str(call.function) in DECLARING:
        default, *others = call.arguments
        plain = [each for each in others if isinstance(each, str)]  # and no expression
        about = [each for each in plain if each.startswith(("'", '"'))]
        if about:  # or else it is another function of that name
            attribute.value = default
            attribute.docstring = Docstring(sentence(ast.literal_eval(about[0])), parent=attribute)


def with_code_blocks(text: str) -> str:
    """Put doctests into fences, without doctest's own flags."""
    return DOCTEST.sub(lambda found: f"```pycon\n{FLAG.sub('', found[0]).rstrip()}\n```\n", text)


def sentence(about: str) -> str:
    """Return a help text as a sentence."""
    return f"{about[0].upper()}{about[1:]}."
