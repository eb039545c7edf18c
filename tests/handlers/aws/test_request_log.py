"""The line that a request leaves in the log: one for each, and its metrics."""

import json

import pytest
from tests.handlers.aws.conftest import ASKED, Context, lines, recorded

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.aws.function import Function
from ranklet.runtime.errors import RankletError


def test_every_request_leaves_one_line_that_is_its_metrics(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    function(recorded("rest"), Context("first"))
    function(ASKED, Context("second"))
    with pytest.raises(RequestError):
        function({}, Context("third"))
    first, second, third = lines(capsys)
    assert (first["request_id"], first["cold_start"], first["ColdStarts"]) == ("first", True, 1)
    assert (second["cold_start"], second["ColdStarts"], second["shape"]) == (False, 0, "direct")
    assert (third["severity"], third["status"], third["ClientErrors"]) == ("WARNING", 422, 1)
    assert "exception" not in third
    assert next(iter(first["stages"])).startswith("retrieve")
    assert first["Duration"] >= sum(first["stages"].values()) > 0
    (directive,) = first["_aws"]["CloudWatchMetrics"]
    assert directive["Dimensions"] == [["function"]]
    assert first["function"] == "search"
    for metric in directive["Metrics"]:
        assert isinstance(first[metric["Name"]], int | float)


@pytest.mark.parametrize("shape", ["rest", "sqs"])
def test_no_line_has_the_query_of_a_request_that_fails(
    function: Function, capsys: pytest.CaptureFixture[str], shape: str
) -> None:
    body = json.dumps({"query": 'my "secret', "k": "secret", "syntax": "query"})
    event = recorded(shape)
    for record in event.get("Records", [event]):
        record["body"] = body
    function(event, Context())
    asked = {"query": "secret", "pipeline": "secret", "where": {"secret": "secret"}}
    with pytest.raises(RankletError):
        function(asked, Context())
    written = capsys.readouterr().out
    assert "secret" not in written
    assert '"error_type": "' in written
