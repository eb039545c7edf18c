"""The comparison of what a cluster makes with what one process makes."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.cluster import ray_build

from ranklet.export.build import build

TEXTS = [{"id": "1", "text": "to knead dough"}, {"id": "2", "text": "to clean windows"}]


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = nullcontext(SimpleNamespace(address="here:1"))
    monkeypatch.setattr(ray_build, "two_nodes", lambda: cluster)


def test_a_row_has_a_time_per_way() -> None:
    given = []

    def work(way: str, options: Sequence[str]) -> Callable[[], Any]:
        given.append((way, options))
        return lambda: "the same"

    row = ray_build._times("index", work)
    assert row[0] == "index"
    assert len(row) == 2 + len(ray_build.ACTORS)
    assert given[0] == ("local", ())
    assert given[1][1][-2:] == ("--address", "here:1")


def test_a_cluster_that_makes_something_else_is_an_error() -> None:
    with pytest.raises(ValueError, match="something else"):
        ray_build._times("index", lambda way, _: lambda: way)


def test_manifests_of_equal_bundles_are_equal(tmp_path: Path) -> None:
    made = [Path(build(TEXTS[: 2 - at // 2], tmp_path / str(at))) for at in range(3)]
    first, second, other = map(ray_build.manifest, made)
    assert first == second != other
