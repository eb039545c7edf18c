"""Collect, train, export, index and evaluate once, on Python's own documentation."""

from ranklet.commands.demo.command import add_arguments, run

__all__ = ["add_arguments", "run"]
