"""Count requests, and hand the counts of all processes to prometheus_client, which writes them."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING

from ranklet.handlers.server.shared_counts import Name, SharedCounts

if TYPE_CHECKING:
    from prometheus_client import Metric

# Upper bounds in seconds. A lexical answer takes about 1 ms, a neural one up to a second.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LE = (*map(str, BOUNDS), "+Inf")
MEDIA = "text/plain; version=0.0.4; charset=utf-8"
STAGES = 500  # that are counted one by one; callers may make up pipelines
OTHER = "other"
_STAGE = "stage"
READY = "ranklet_ready"
# Those that all processes have in common.
ADDITIONS, DELETED, BUILT = "ranklet_additions", "ranklet_deleted", "ranklet_built_seconds"
GAUGES = {
    READY: "1 if all processes answer requests.",
    ADDITIONS: "Additions to the bundle, which are joined with it in time.",
    DELETED: "Deleted documents and passages that the bundle still holds.",
    BUILT: "When the bundle was built or joined with its additions, in seconds since 1970.",
    "ranklet_held": "Requests that rank or wait for a thread.",
    "process_resident_memory_bytes": "Resident memory of all processes in bytes.",
}


class Metrics:
    """The counts of all processes since the server started. Only the event loop may use them."""

    def __init__(self, counts: SharedCounts) -> None:
        self._counts = counts
        self._stages = sum(name[0] == _STAGE for name in counts.names)

    def count(
        self, route: str, status: int, seconds: float, stages: Iterable[tuple[str, float]] = ()
    ) -> None:
        """Count a request, with (stage, milliseconds) of its ranking.

        The route is an existing path, or "other", so that callers cannot create labels. The status
        is 499 if the caller hung up. A full disk costs new labels and no answer.
        """
        with suppress(OSError, IndexError):
            self._count(route, status, seconds, stages)

    def _count(
        self, route: str, status: int, seconds: float, stages: Iterable[tuple[str, float]]
    ) -> None:
        add = self._counts.add
        add(("requests", route, str(status)), 1)
        add(("bucket", route, _LE[bisect_left(BOUNDS, seconds)]), 1)
        add(("seconds", route), seconds)
        for name, ms in stages:
            stage = self._known(name)
            add((_STAGE, stage), 1)
            add(("stage seconds", stage), ms / 1e3)

    def _known(self, stage: str) -> str:
        """Return a stage if it is counted one by one."""
        if (_STAGE, stage) not in self._counts.names:
            if self._stages >= STAGES:
                return OTHER
            self._stages += 1
        return stage

    def set(self, gauges: Mapping[str, float]) -> None:
        """Set what this process has now, for some of `GAUGES`."""
        for name, value in gauges.items():
            self._counts.set(("gauge", name), value)

    def text(self) -> bytes:
        """Return the metrics of all processes as `MEDIA`.

        The library is imported here, because a server should not wait for it when it starts.
        """
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.registry import Collector

        families = list(_families(self._counts.by_name()))

        class Counted(Collector):
            def collect(self) -> "list[Metric]":
                return families

        registry = CollectorRegistry()
        registry.register(Counted())
        return generate_latest(registry)


def _families(processes: list[dict[Name, float]]) -> "Iterator[Metric]":
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        SummaryMetricFamily,
    )

    sums: dict[Name, float] = defaultdict(float)
    for process in processes:
        for name, value in process.items():
            sums[name] += value

    def named(kind: str) -> Iterator[tuple[Name, float]]:
        """Yield the labels and the sums of a kind of number."""
        return ((name[1:], value) for name, value in sorted(sums.items()) if name[0] == kind)

    requests = CounterMetricFamily(
        "ranklet_requests", "Requests by route and status.", labels=("route", "status")
    )
    for labels, times in named("requests"):
        requests.add_metric(labels, times)
    yield requests
    seconds = HistogramMetricFamily(
        "ranklet_request_seconds", "Seconds to answer, by route.", labels=("route",)
    )
    for labels, total in named("seconds"):
        buckets = accumulate(sums.get(("bucket", *labels, bound), 0.0) for bound in _LE)
        seconds.add_metric(labels, list(zip(_LE, buckets, strict=True)), total)
    yield seconds
    stages = SummaryMetricFamily(
        "ranklet_stage_seconds", "Seconds per stage of the pipelines.", labels=("stage",)
    )
    for labels, times in named(_STAGE):
        stages.add_metric(labels, int(times), sums["stage seconds", *labels])
    yield stages
    for gauge, meaning in GAUGES.items():
        values = [each[name] for each in processes if (name := ("gauge", gauge)) in each]
        if values:
            together = {READY: min, ADDITIONS: max, DELETED: max, BUILT: max}.get(gauge, sum)
            yield GaugeMetricFamily(gauge, meaning, together(values))
