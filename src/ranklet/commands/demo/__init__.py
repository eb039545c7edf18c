"""The whole way once, on Python's own documentation: collect, train, export, index, evaluate."""

from ranklet.commands.demo.command import add_arguments, run

__all__ = ["add_arguments", "run"]
