"""The parser of a command line, which answers a mistake with what may be meant."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NoReturn

from ranklet.runtime.ground.errors import suggest
from ranklet.runtime.metadata.where import is_condition

WHERE = "--where"  # which several conditions may follow
MAY_BE_BLANK = ("--query-prompt", "--document-prompt")  # which then replace the folder's by none


class OptionParser(argparse.ArgumentParser):
    """A parser that answers a mistake without its usage, and an unknown option with its own.

    Attributes:
        reasons: why this parser lacks an option of other parsers, by flag.
    """

    reasons: Mapping[str, str] = MappingProxyType({})

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", lambda prog: argparse.HelpFormatter(prog, 2, 28))
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and exit with status 2."""
        self.exit(2, f"{self.prog}: error: {message}\n`{self.prog} --help` says more\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, and refuse blank values and unknown arguments instead of returning them.

        A blank value is a variable that a script forgot to set, as in ``--baseline "$RUN"``.
        """
        words = self._repeat_where(sys.argv[1:] if args is None else args)
        given = [*pairwise(words), *(each.split("=", 1) for each in words)]
        for flag, *value in given:
            known = self._option_string_actions.get(flag)
            blank = bool(value) and not value[0].strip()
            if known and known.nargs != 0 and blank and flag not in MAY_BE_BLANK:
                self.error(f"{flag} is blank; give it a value, or leave it out")
        parsed, unknown = super().parse_known_args(words, namespace)
        if unknown:
            self._refuse(unknown)
        return parsed, []

    def _repeat_where(self, given: Sequence[str]) -> list[str]:
        """Return words in which each condition has a flag, so that no query is taken for one."""
        words = list[str]()
        for word in given:
            follows = words[-2:-1] == [WHERE] and WHERE in self._option_string_actions
            goes_on = follows and (word.startswith("{") or is_condition(word))
            words += [WHERE, word] if goes_on else [word]
        return words

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        given = [each.partition("=")[0] for each in unknown if each.startswith("-")]
        flags = [action.option_strings[-1] for action in self._actions if action.option_strings]
        meant = "".join(suggest(each, flags) for each in given)
        if not given and any(action.dest == "query" for action in self._actions):
            meant = " (put a query of several words in quotes)"
        reasons = "".join(f"\n{self.reasons[each]}" for each in given if each in self.reasons)
        shown = " ".join(unknown) + meant
        self.error(f"unrecognized arguments: {shown}{reasons}\n{self.prog} has {', '.join(flags)}")
