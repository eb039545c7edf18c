"""Count requests, and write the counts in the text format of Prometheus (version 0.0.4)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping

# Upper bounds in seconds. A lexical answer takes about 1 ms, a neural one up to a second.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


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
        for stage, ms in stages:
            times, total = self._stages.get(stage, (0, 0.0))
            self._stages[stage] = times + 1, total + ms / 1e3

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return all metrics, with the current values in `gauges`, from name to (help, value)."""
        lines = _head("ranklet_requests_total", "counter", "Requests by route and status.")
        for (route, status), times in sorted(self._requests.items()):
            labels = _labels(route=route, status=str(status))
            lines.append(f"ranklet_requests_total{labels} {times}")
        name = "ranklet_request_seconds"
        lines += _head(name, "histogram", "Seconds to answer, by route.")
        for route, buckets in sorted(self._buckets.items()):
            cumulative = 0
            for bound, times in zip((*map(repr, BOUNDS), "+Inf"), buckets, strict=True):
                cumulative += times
                lines.append(f"{name}_bucket{_labels(route=route, le=bound)} {cumulative}")
            lines.append(f"{name}_sum{_labels(route=route)} {self._seconds[route]!r}")
            lines.append(f"{name}_count{_labels(route=route)} {cumulative}")
        name = "ranklet_stage_seconds"
        lines += _head(name, "summary", "Seconds per stage of the pipelines.")
        for stage, (times, total) in sorted(self._stages.items()):
            lines.append(f"{name}_sum{_labels(stage=stage)} {total!r}")
            lines.append(f"{name}_count{_labels(stage=stage)} {times}")
        for name, (meaning, value) in gauges.items():
            lines += [*_head(name, "gauge", meaning), f"{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def _labels(**labels: str) -> str:
    r"""Return labels in the text format.

    >>> _labels(stage='by "x"')
    '{stage="by \\"x\\""}'
    """
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for name, value in labels.items()
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
