import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, succeeds

if TYPE_CHECKING:
    from tests.conftest import Built


def test_bench_measures_every_stage(
    built: "Built", capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("json.py").write_text("raise SystemExit(4)")  # is not imported
    monkeypatch.chdir(tmp_path)
    arguments = ("bench", built.fused, "-n", 5, "--cold", 1, "--json")
    measured = json.loads(succeeds(capsys, *arguments))
    assert measured["queries"] == 5
    assert measured["cold_ms"]["import ranklet.runtime"] > 0
    assert measured["warm_ms"]["in all"]["p50"] > 0
    stages = [stage.split()[0] for stage in measured["warm_ms"]]
    assert stages == ["retrieve", "rescore", "rescore", "fuse", "read", "in"]
