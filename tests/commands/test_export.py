import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, succeeds
from tests.kinds import TinyRankers

from ranklet.commands import main
from ranklet.export.proof.report import read_reports
from ranklet.runtime.storage.bundle_files import BundleFiles

if TYPE_CHECKING:
    from tests.conftest import Built


def test_a_path_with_an_equals_sign_is_a_path(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    path = shutil.copytree(built.checkpoints["bm25"], tmp_path / "k1=0.9" / "bm25")
    assert succeeds(capsys, "export", path, "-o", tmp_path / "a").startswith("bm25 →")
    assert succeeds(capsys, "export", f"x={path}", "-o", tmp_path / "b").startswith("x →")


@pytest.fixture
def saved(tiny: TinyRankers, tmp_path: Path) -> Path:
    """Return a checkpoint of a RepBERT."""
    return tiny.checkpoint("dense").save(tmp_path / "checkpoint" / "dense")


@pytest.mark.slow
def test_a_variant_out_of_tolerance_is_not_written_and_the_exit_status_says_so(
    tiny: TinyRankers, saved: Path, tmp_path: Path, capsys: Capture
) -> None:
    proofs = read_reports(tiny.exported("dense"))["dense"]
    sizes = {each.variant: each.bytes for each in proofs}
    between = (sizes["fp32"] + sizes["int8"]) / 2e6
    arguments = ["export", str(saved), "-o", str(tmp_path / "b"), "--max-ndcg-loss", "0.5"]
    assert main([*arguments, "--max-mb", f"{between:.6f}"]) == 3
    assert "REFUSED" in capsys.readouterr().out
    assert not BundleFiles(tmp_path / "b").has("rankers/dense/model.onnx")
    assert BundleFiles(tmp_path / "b").has("rankers/dense/model_int8.onnx")


@pytest.mark.slow
def test_an_export_that_is_killed_leaves_no_bundle_and_can_be_repeated(
    saved: Path, tmp_path: Path
) -> None:
    target = tmp_path / "bundles" / "b"
    target.parent.mkdir()
    command = [sys.executable, "-m", "ranklet", "export", str(saved), "-o", str(target)]
    child = subprocess.Popen([*command, "--variants", "fp32"], stderr=subprocess.DEVNULL)
    while not list(target.parent.iterdir()) and child.poll() is None:  # it has begun to write
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not target.exists()
    assert main(["export", str(saved), "-o", str(target), "--variants", "fp32"]) == 0
    assert BundleFiles(target, check="full").has("rankers/dense/model.onnx")


@pytest.mark.slow
def test_where_there_is_no_room_nothing_is_left_and_the_error_says_so(
    saved: Path, tmp_path: Path
) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))  # as a full disk: write() fails

    target = tmp_path / "bundles" / "b"
    target.parent.mkdir()
    command = [sys.executable, "-m", "ranklet", "export", str(saved), "-o", str(target)]
    done = subprocess.run(
        [*command, "--variants", "fp32"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=little_room,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert list(target.parent.iterdir()) == []
