from typing import TYPE_CHECKING

import pytest

from ranklet.handlers.server.metrics import Metrics
from ranklet.handlers.server.shared_counts import SharedCounts

if TYPE_CHECKING:
    from tests.handlers.conftest import Server, Start


def lines(metrics: Metrics) -> list[str]:
    metrics.set({"ranklet_ready": 1})
    text = metrics.text()
    assert text.endswith(b"\n")
    return text.decode().splitlines()


def test_requests_are_counted_by_route_status_and_time() -> None:
    metrics = Metrics(SharedCounts())
    metrics.count("/rank", 200, 0.002, [("retrieve", 1.5), ("rescore", 0.25)])
    metrics.count("/rank", 200, 0.02, [("retrieve", 2.5)])
    metrics.count("/rank", 422, 100.0)
    written = lines(metrics)
    assert 'ranklet_requests_total{route="/rank",status="200"} 2.0' in written
    assert 'ranklet_requests_total{route="/rank",status="422"} 1.0' in written
    assert 'ranklet_request_seconds_bucket{le="0.001",route="/rank"} 0.0' in written
    assert 'ranklet_request_seconds_bucket{le="0.0025",route="/rank"} 1.0' in written
    assert 'ranklet_request_seconds_bucket{le="10.0",route="/rank"} 2.0' in written
    assert 'ranklet_request_seconds_bucket{le="+Inf",route="/rank"} 3.0' in written
    assert 'ranklet_request_seconds_count{route="/rank"} 3.0' in written
    assert 'ranklet_stage_seconds_sum{stage="retrieve"} 0.004' in written
    assert 'ranklet_stage_seconds_count{stage="retrieve"} 2.0' in written
    assert "ranklet_ready 1.0" in written


def test_every_metric_has_a_help_and_a_type() -> None:
    metrics = Metrics(SharedCounts())
    metrics.count("/rank", 200, 0.1, [("retrieve", 1.0)])
    written = lines(metrics)
    named = {line.split(" ")[2] for line in written if line.startswith("# TYPE")}
    assert named == {line.split(" ")[2] for line in written if line.startswith("# HELP")}
    samples = [line for line in written if not line.startswith("#")]
    assert samples
    assert all(any(line.startswith(name) for name in named) for line in samples)


def test_the_server_counts_what_it_answers(server: "Server") -> None:
    def figure(name: str) -> float:
        written = server.metrics().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in written if line.startswith(name))

    name = 'ranklet_requests_total{route="/rank",status="200"}'
    before = figure(name)
    server.post("/rank", {"query": "dough"})
    server.post("/rank", {"query": 1})
    assert figure(name) == before + 1
    assert figure('ranklet_request_seconds_count{route="/rank"}') >= before + 2
    assert figure('ranklet_stage_seconds_count{stage="retrieve 1000 by bm25"}') >= 1
    assert figure("ranklet_ready ") == 1
    assert figure("process_resident_memory_bytes ") > 1e7


def test_made_up_paths_make_no_labels(server: "Server") -> None:
    assert server.ask("GET", "/made-up").status == 404
    text = server.metrics()
    assert "made-up" not in text
    assert 'route="other",status="404"' in text


@pytest.mark.slow
def test_a_server_of_several_processes_counts_each_request_once(start: "Start") -> None:
    with start(RANKLET_WORKERS="2") as server:
        for _ in range(40):
            assert server.post("/rank", {"query": "dough"}).status == 200
        name = 'ranklet_requests_total{route="/rank",status="200"} 40.0'
        server.wait(lambda: name in server.metrics().splitlines())  # counted once it was sent
        assert all(name in server.metrics().splitlines() for _ in range(10))
