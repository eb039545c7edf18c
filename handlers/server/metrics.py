"""Count requests, and hand the counts to prometheus_client, which writes them for Prometheus."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import Metric

# Upper bounds in seconds. A lexical answer takes about 1 ms, a neural one up to a second.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MEDIA = "text/plain; version=0.0.4; charset=utf-8"
STAGES = 500  # that are counted one by one; callers may make up pipelines
OTHER = "other"


class Metrics:
    """The counts of one process since it started. Only the event loop's thread may use them."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = defaultdict(int)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)
        self._stages: dict[str, tuple[int, float]] = {}

    def count(
        self, route: str, status: int, seconds: float, stages: Iterable[tuple[str, float]] = ()
    ) -> None:
        """Count a request, with (stage, milliseconds) of its ranking.

        The route is an existing path, or "other", so that callers cannot create labels. The status
        is 499 if the caller hung up.
        """
        self._requests[route, status] += 1
        self._buckets[route][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds
        for name, ms in stages:
            stage = name if name in self._stages or len(self._stages) < STAGES else OTHER
            times, total = self._stages.get(stage, (0, 0.0))
            self._stages[stage] = times + 1, total + ms / 1e3

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> bytes:
        """Return all metrics as `MEDIA`, with the current values in `gauges`.

        The library is imported here, because a server should not wait for it when it starts.

        Args:
            gauges: help and value, by name.
        """
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.registry import Collector

        families = [*self._families(), *_gauges(gauges)]

        class Counted(Collector):
            def collect(self) -> "list[Metric]":
                return families

        registry = CollectorRegistry()
        registry.register(Counted())
        return generate_latest(registry)

    def _families(self) -> "Iterator[Metric]":
        from prometheus_client.core import (
            CounterMetricFamily,
            HistogramMetricFamily,
            SummaryMetricFamily,
        )

        requests = CounterMetricFamily(
            "ranklet_requests", "Requests by route and status.", labels=("route", "status")
        )
        for (route, status), times in sorted(self._requests.items()):
            requests.add_metric((route, str(status)), times)
        yield requests
        seconds = HistogramMetricFamily(
            "ranklet_request_seconds", "Seconds to answer, by route.", labels=("route",)
        )
        for route, buckets in sorted(self._buckets.items()):
            bounds = (*map(str, BOUNDS), "+Inf")
            cumulative = list(zip(bounds, map(float, accumulate(buckets)), strict=True))
            seconds.add_metric((route,), cumulative, self._seconds[route])
        yield seconds
        stages = SummaryMetricFamily(
            "ranklet_stage_seconds", "Seconds per stage of the pipelines.", labels=("stage",)
        )
        for stage, (times, total) in sorted(self._stages.items()):
            stages.add_metric((stage,), times, total)
        yield stages


def _gauges(gauges: Mapping[str, tuple[str, float]]) -> "Iterator[Metric]":
    from prometheus_client.core import GaugeMetricFamily

    for name, (meaning, value) in gauges.items():
        yield GaugeMetricFamily(name, meaning, value)
