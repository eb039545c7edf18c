"""Turn what other libraries raise about a model into one clear line."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC

from ranklet.runtime.ground.errors import ModelFolderError, RankletError
from ranklet.runtime.ground.extras import sufficient

FULL = (ENOSPC, EDQUOT, EFBIG)  # a full disk is not the model's fault
MOST_CHARACTERS = 300  # of another library's message

_log = logging.getLogger(__name__)


@contextmanager
def one_line(failed: str) -> Iterator[None]:
    """Raise whatever goes wrong with a model as a ModelFolderError of one line.

    It surrounds the entrances to other libraries: loading, comparing and tracing. torch,
    transformers, safetensors and tokenizers raise errors of many classes there, and a panic of Rust
    code is no Exception at all. Errors of ranklet pass through, because their messages are clear.
    The traceback of any other one is kept as its cause, and logged at the level DEBUG.

    Args:
        failed: what could not be done, such as ``'models/bge' cannot be loaded``.

    Raises:
        ModelFolderError: anything but an error of ranklet was raised.
        OSError: the disk is full.
        ModuleNotFoundError: a package of an extra is not installed.
    """
    try:
        yield
    except (RankletError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        if isinstance(error, ModuleNotFoundError) and sufficient(error.name or ""):
            raise
        _log.debug("%s", failed, exc_info=True)
        raise ModelFolderError(
            f"{failed}: {type(error).__name__}: {first_line(error):.{MOST_CHARACTERS}}"
        ) from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message that is not empty."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), "no message")
