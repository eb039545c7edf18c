"""Text for a terminal, which nothing that was read can control or forge a line of."""

import os
import re
from collections.abc import Iterable
from typing import Any, TextIO

# C0 but the tab, DEL, C1, the separators of lines and paragraphs, and what reorders other text.
_CONTROLS = "[\x00-\x08\n-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"


def printable(line: str) -> str:
    r"""Return a line with its control characters escaped as in JSON, which stays the same JSON.

    >>> printable("caf\u00e9 \x1b[2J")
    'café \\u001b[2J'
    """
    return re.sub(_CONTROLS, lambda found: f"\\u{ord(found[0]):04x}", line)


def suggest_command(command: str, *operands: object, **options: object) -> str:
    """Return a command that can be pasted into a shell.

    >>> suggest_command("rank", "my search.ranklet", "-dough")
    "ranklet rank -- 'my search.ranklet' -dough"
    >>> suggest_command("eval", "a.ranklet", "judged", split="train")
    'ranklet eval a.ranklet judged --split train'
    """
    import shlex

    texts = list(map(str, operands))
    chosen: list[str] = []
    for name, value in options.items():
        typed = str(value)
        chosen += [f"--{name}={typed}"] if typed.startswith("-") else [f"--{name}", typed]
    if any(text.startswith("-") for text in texts):
        return shlex.join(["ranklet", command, *chosen, "--", *texts])
    return shlex.join(["ranklet", command, *texts, *chosen])


class Screen:
    """A stream of text on which only the ends of lines control a terminal.

    If nobody can read it any more, what is written is dropped, so that no work ends for want of a
    reader. All else is as the stream has it.

    Args:
        bare: the stream.
        needed: whether an error in writing that is not of a reader who has gone is raised.

    Attributes:
        bare: the stream.
        gone: whether what is written is dropped.
    """

    def __init__(self, bare: TextIO, *, needed: bool) -> None:
        self.bare = bare
        self.gone = False
        self._needed = needed

    def write(self, text: str) -> int:
        """Write a text; return the number of its characters."""
        try:
            self.bare.write("\n".join(map(printable, text.split("\n"))))
        except OSError as error:
            self._drop(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, one after the other."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand over what was written."""
        try:
            self.bare.flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        self.gone = True
        # Also what is in the buffer, which the end of the process would try to write again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.bare.fileno())
        os.close(nowhere)
        if self._needed and not isinstance(error, BrokenPipeError):
            raise error

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stream."""
        return getattr(self.bare, name)


def bare(stream: Any) -> TextIO | None:
    """Return the stream behind a screen, for what draws; None if it is missing or closed."""
    found: TextIO | None = stream.bare if isinstance(stream, Screen) else stream
    return None if found is None or getattr(found, "closed", False) else found
