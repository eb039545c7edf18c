import json

import pytest

from ranklet.handlers.api.errors import (
    PanicError,
    RequestError,
    error_body,
    failure,
    panics_as_errors,
    shape_error,
)
from ranklet.runtime.ground.errors import (
    BundleError,
    InputError,
    OutOfTimeError,
    UnknownDocumentError,
    UnknownRankerError,
)


def test_a_fault_of_the_server_names_neither_path_nor_stack() -> None:
    for error in (BundleError("the bundle '/srv/x' is damaged"), KeyError("/srv/x"), MemoryError()):
        status, body = failure(error)
        assert status == 500
        assert "srv" not in json.dumps(body)


def test_a_message_that_quotes_very_much_is_cut() -> None:
    _, body = failure(InputError("x" * 100_000))
    assert 1000 < len(body["error"]) < 5000


class Panic(BaseException):
    """What tokenizers raises where Rust panics, which is no Exception either."""


def test_a_panic_is_an_error_and_an_interruption_is_none() -> None:
    with pytest.raises(PanicError) as caught, panics_as_errors():
        raise Panic("no")
    assert failure(caught.value)[0] == 500
    interruptions = (KeyboardInterrupt(), SystemExit(), GeneratorExit())  # a dropped request, too
    for passed in (*interruptions, MemoryError(), InputError("no")):
        with pytest.raises(type(passed)), panics_as_errors():
            raise passed


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (RequestError(413, "too long"), 413, "too_large"),
        (RequestError(418, "a teapot"), 418, "error"),
        (InputError("no"), 422, "invalid"),
        (UnknownRankerError("no"), 404, "not_found"),
        (UnknownDocumentError("no"), 404, "not_found"),
        (BundleError("no"), 500, "internal"),
        (ValueError("no"), 500, "internal"),
    ],
)
def test_every_error_has_a_status_and_a_word_for_programs(
    error: Exception, status: int, kind: str
) -> None:
    found, body = failure(error)
    assert (found, body["error_type"]) == (status, kind)
    assert status == 500 or body["error"] == str(error)


def test_a_spent_budget_is_a_timeout() -> None:
    assert failure(OutOfTimeError("no time"))[0] == 504


@pytest.mark.parametrize(
    ("status", "kind"), [(422, "invalid_request_error"), (503, "server_error")]
)
def test_clients_of_openai_find_the_message_in_an_object(status: int, kind: str) -> None:
    body = error_body(status, "why")
    assert shape_error("/rank", body) is body
    assert shape_error("/v1/embeddings", body) == {
        "error": {"message": "why", "type": kind, "param": None, "code": body["error_type"]}
    }
