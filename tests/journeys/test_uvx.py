"""`uvx ranklet` builds and ranks, from a folder of wheels in place of an index."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

UNREACHABLE = ("Failed to fetch", "dns error", "tcp connect error", "timed out", "Connection")


@pytest.mark.slow
def test_a_search_without_an_installation(tmp_path: Path) -> None:
    pytest.importorskip("build")
    uv = pytest.importorskip("uv").find_uv_bin()
    wheels = tmp_path / "wheels"
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(wheels), str(ROOT)],
        check=True, capture_output=True,
    )  # fmt: skip
    (tmp_path / "texts.csv").write_text("text\nKnead the dough for ten minutes.\nBoil the eggs.\n")
    # Nothing of this environment or of the clone is found there.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for words in (["build", "texts.csv", "-o", "s.ranklet"], ["rank", "s.ranklet", "dough"]):
        done = subprocess.run(
            [uv, "tool", "run", "--find-links", str(wheels), "ranklet", *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode and any(each in done.stderr for each in UNREACHABLE):
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr[-2000:]
    assert "Knead the dough" in done.stdout
