"""Show a user who made a mistake the line that has it, and not what found it."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ranklet.runtime.ground.errors import (
    CollectionError,
    InputError,
    MissingPackageError,
    UnknownRankerError,
)

OF_USERS = (InputError, CollectionError, UnknownRankerError, MissingPackageError)

P = ParamSpec("P")
R = TypeVar("R")


def short_tracebacks(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a traceback of two lines for errors of the caller's input.

    Other errors keep theirs, because what they tell of is in this package or on the disk.
    """

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except OF_USERS as error:
            raise error.with_traceback(None) from None

    return call
