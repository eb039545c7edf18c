"""What other libraries raise becomes one line; what people and ranklet raise stays as it is."""

import logging
from errno import ENOSPC

import pytest

from ranklet.corpus.faults import first_line, one_line
from ranklet.runtime.ground.errors import InputError, ModelFolderError


class Panic(BaseException):
    """What Rust code raises through pyo3, which is no Exception."""


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("unordered_map::at\nException raised from …"),
        KeyError("model.layers.0"),
        OSError("no such file"),
        AttributeError("no hidden_size"),
        ImportError("needs flash_attn"),
        MemoryError(),
        Panic("called `Option::unwrap()` on a `None` value"),
    ],
)
def test_whatever_a_library_raises_is_one_line_with_its_class(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ModelFolderError) as caught, one_line("'bge' cannot be loaded"):
        raise error
    message = f"'bge' cannot be loaded: {type(error).__name__}: {first_line(error)}"
    assert str(caught.value) == message
    assert "\n" not in message
    assert caught.value.__cause__ is error
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    "error", [InputError("as it is"), OSError(ENOSPC, "full"), KeyboardInterrupt(), SystemExit(1)]
)
def test_errors_of_ranklet_and_interruptions_pass_through(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, one_line("nothing"):
        raise error
    assert caught.value is error
