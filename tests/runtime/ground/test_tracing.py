"""Spans say how long each stage took, and nothing is recorded unless it is asked for."""

from collections.abc import Iterator
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime import Bundle
from ranklet.runtime.ground import tracing
from ranklet.runtime.ground.variables import Variable

if TYPE_CHECKING:
    from tests.conftest import Built

sdk = pytest.importorskip("opentelemetry.sdk.trace")
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return what keeps the spans of a program that receives them."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    monkeypatch.setenv(Variable.TRACES, "1")
    tracing.tracer.cache_clear()
    yield kept
    tracing.tracer.cache_clear()


def test_each_stage_of_a_ranking_is_a_span_without_the_query(built: "Built", spans: Any) -> None:
    ranking = Bundle(built.fused).rank("dough", k=3)
    *stages, whole = spans.get_finished_spans()
    assert [each.name for each in stages] == [timing.stage for timing in ranking.timings]
    assert {each.parent.span_id for each in stages} == {whole.context.span_id}
    assert (whole.name, whole.attributes["ranklet.hits"]) == ("ranklet.rank", len(ranking))
    for span, (_, ms) in zip(stages, ranking.timings, strict=True):
        assert (span.end_time - span.start_time) / 1e6 == pytest.approx(ms, abs=0.01)
        assert whole.start_time <= span.start_time <= span.end_time
    assert "dough" not in str([dict(each.attributes) for each in (*stages, whole)])


def test_a_request_is_below_its_caller_and_above_its_ranking(built: "Built", spans: Any) -> None:
    headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
    with tracing.request_span("POST /rank", headers):
        work = copy_context().run
        thread = Thread(target=lambda: work(Bundle(built.fused).rank, "dough"))
        thread.start()
        thread.join()
    by_name = {each.name: each for each in spans.get_finished_spans()}
    request, ranking = by_name["POST /rank"], by_name["ranklet.rank"]
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == CALLER
    assert ranking.parent.span_id == request.context.span_id


@pytest.mark.parametrize(
    ("status", "failed"), [(200, False), (422, False), (500, True), (503, True)]
)
def test_the_span_of_a_fault_of_the_server_has_failed(
    status: int, failed: bool, spans: Any
) -> None:
    with tracing.request_span("POST /rank", {}) as span:
        tracing.trace_end(span, status)
    (found,) = spans.get_finished_spans()
    assert found.attributes["http.response.status_code"] == status
    assert (found.status.status_code.name == "ERROR") == failed


@pytest.mark.parametrize("value", ["", "0", "false", "off"])
def test_nothing_is_recorded_unless_it_is_asked_for(
    value: str, built: "Built", spans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(Variable.TRACES, value)
    tracing.tracer.cache_clear()
    Bundle(built.fused).rank("dough")
    with tracing.request_span("POST /rank", {}) as span:
        assert span is None
    assert not spans.get_finished_spans()
