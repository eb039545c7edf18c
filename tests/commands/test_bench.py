import json

import pytest
from tests.kinds import TinyRankers

from ranklet.commands import main


def test_bench_measures_every_stage(tiny: TinyRankers, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tiny.indexed("repbert"))
    assert main(["bench", target, "-n", "5", "--cold", "1", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["queries"] == 5
    assert measured["cold_ms"]["import ranklet.runtime"] > 0
    assert measured["warm_ms"]["in all"]["p50"] > 0
