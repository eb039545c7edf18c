"""The limits of one request and its answer, which bound what a caller can cost."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from ranklet.handlers.api.errors import RequestError
from ranklet.runtime.ground.errors import InputError, suggest
from ranklet.runtime.ground.frozen import frozen
from ranklet.runtime.ground.variables import PREFIX, VARIABLES, Variable

V = TypeVar("V")

_BARE = {"HOST": "HOST", "PORT": "PORT"}  # variables without the prefix, which platforms set
# After this share of a request's time limit no further stage begins. So a partial answer arrives
# before the limit turns it into a 504, and no thread works for a caller who has given up.
RANKING_SHARE = 0.9
_NEAR = 0.72  # how similar a name must be to one of these to be meant for it


@frozen
class Limits:
    """The largest request that is answered, and the largest answer.

    Variables such as RANKLET_MAX_DOCUMENTS set the limits.

    Attributes:
        body_bytes: the size of a request's body.
        answer_bytes: the size of an answer.
        query_characters: the length of a query; see `characters` for how they are counted.
        documents: the number of the caller's own texts.
        characters: the length of all these texts together, titles included.
        encoded_characters: the length of all texts that are encoded, which bounds the time of a
            request for vectors; a single text may be longer, because only its beginning is read.
        k: the number of hits.
        facets: the number of fields whose values are counted.
        facet_values: the number of values, or of ranges, that are counted of each.
        explained: the number of hits with explanations, which cost far more than plain hits; at
            most `k`.
        seconds: the time for a body to arrive, and the time to compute an answer.
    """

    body_bytes: int = 4 << 20  # 4 MiB
    answer_bytes: int = 16 << 20
    query_characters: int = 10_000
    documents: int = 1_000
    characters: int = 2_000_000
    encoded_characters: int = 100_000
    k: int = 1_000
    facets: int = 20
    facet_values: int = 1_000
    explained: int = 100
    seconds: float = 30

    def __post_init__(self) -> None:
        object.__setattr__(self, "explained", min(self.explained, self.k))

    @property
    def ranking_ms(self) -> float:
        """The milliseconds in which the stages of a ranking may begin."""
        return RANKING_SHARE * self.seconds * 1e3

    @classmethod
    def from_variables(cls, variables: Mapping[str, str]) -> "Limits":
        """Read the limits that environment variables set; the others keep their defaults.

        Raises:
            InputError: a variable is not a whole number above 0; or see `check_variables`.
        """
        check_variables(variables)
        limits = {
            name: whole_number(variables, limit_variable(name), default, 1, (1 << 31) - 1)
            for name, default in asdict(cls()).items()
        }
        return cls(**limits)


class _Lengths(dict[str, int]):
    """How many characters each one stands for."""

    def __missing__(self, char: str) -> int:
        length = self[char] = len(unicodedata.normalize("NFKC", char))
        return length


# Where the characters are that stand for many; U+FDFA, of three bytes, is four words of Arabic.
_MANIFOLD = "[\u3200-\u33ff\ufb00-\ufdff\U0001f100-\U0001f2ff]"
_LENGTHS = _Lengths()


def characters(text: str) -> int:
    """Return how many characters of a text are read, after those that stand for many are resolved.

    >>> characters("dough"), characters("\ufdfa")
    (5, 18)
    """
    manifold = [] if text.isascii() else re.findall(_MANIFOLD, text)
    return len(text) + sum(map(_LENGTHS.__getitem__, manifold)) - len(manifold)


class Room:
    """The room that is left in an answer.

    Each part of an answer, such as a hit, takes its room when it is made, so that an answer that is
    too large ends there. The sizes are the least that the parts can have in JSON. When all is
    encoded, `check` compares the size that it really has.

    Args:
        most: the number of bytes that the answer may have.
        less: what a caller can do to get a smaller answer.
    """

    LESS = (
        "ask for fewer hits (k or top_n), for hits without their texts ('return_documents': "
        "false), or leave out 'explain', 'highlight' and 'facets'"
    )

    def __init__(self, most: int, less: str = LESS) -> None:
        self._most, self._less, self.left = most, less, most

    def take(self, size: int) -> None:
        """Take so many bytes of the room.

        Raises:
            RequestError: 413: there are fewer.
        """
        self.left -= size
        if self.left < 0:
            raise self.full()

    def fit(self, value: V) -> V:
        """Take the room that a JSON value needs at least, and return it.

        Raises:
            RequestError: 413: there is less.
        """
        size, waiting = 0, list[Any]([value])
        for each in waiting:  # which grows
            kind = type(each)
            if kind is str:
                size += len(each) + 2
            elif kind is dict:
                size += 2 + 4 * len(each) + len("".join(each))
                waiting += each.values()
            elif kind is list:
                size += 2 + len(each)
                waiting += each
            else:
                size += 1
        self.take(size)
        return value

    def full(self) -> RequestError:
        """Return the error of an answer that has no room."""
        return RequestError(
            413, f"the answer would have more than {self._most:,} bytes; {self._less}"
        )

    def check(self, encoded: bytes) -> bytes:
        """Return an answer that is encoded, if it has room.

        Raises:
            RequestError: 413: it has not.
        """
        self.left = self._most
        self.take(len(encoded))
        return encoded


def limit_variable(limit: str) -> str:
    """Return the name of the variable that sets a limit."""
    return f"{PREFIX}MAX_{limit.upper()}"


def check_variables(variables: Mapping[str, str]) -> None:
    """Check that no variable of ranklet is set to nothing, or has a name that is only nearly right.

    If it counted as not set, a key, an address or a limit would silently protect nothing.

    Raises:
        InputError: one is.
    """
    names = (*VARIABLES, *(limit_variable(each.name) for each in fields(Limits)))
    known = {each.removeprefix(PREFIX): each for each in names} | _BARE
    for name, value in variables.items():
        short = name.upper().removeprefix(PREFIX)
        # Kubernetes sets RANKLET_PORT=tcp://… where a service is called ranklet.
        if short == name.upper() or (short == "PORT" and "://" in value):
            continue
        if not value.strip():
            raise InputError(f"{name} is set, but blank; give it a value, or do not set it")
        if known.get(short) == name:
            continue
        near = 0 if short.startswith("MAX_") else _NEAR  # a limit that is none limits nothing
        likely = {short: Variable.API_KEY} if "KEY" in short else known
        if meant := suggest(short, likely, 1, near):
            raise InputError(f"{name} is no setting{meant}")


def whole_number(
    variables: Mapping[str, str], name: str, default: int, smallest: int, largest: int
) -> int:
    """Return the whole number that a variable sets, or the default if it is not set.

    Raises:
        InputError: the variable is not a number from `smallest` to `largest`.
    """
    text = variables.get(name, str(default))
    digits = text.isascii() and text.isdecimal() and len(text) <= 12
    if not digits or not smallest <= int(text) <= largest:
        raise InputError(
            f"{name} is {text[:40]!r}; it must be a whole number from {smallest} to {largest:,}"
        )
    return int(text)
