import json

import pytest

from ranklet.handlers.api.errors import RequestError, failure
from ranklet.runtime.errors import BundleError, InputError, UnknownDocumentError, UnknownRankerError


def test_a_fault_of_the_server_names_neither_path_nor_stack() -> None:
    for error in (BundleError("the bundle '/srv/x' is damaged"), KeyError("/srv/x"), MemoryError()):
        status, body = failure(error)
        assert status == 500
        assert "srv" not in json.dumps(body)


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (RequestError(413, "too long"), 413, "too_large"),
        (RequestError(418, "a teapot"), 418, "i'm_a_teapot"),
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
