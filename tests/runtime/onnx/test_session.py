import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.damage import graph

from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.onnx import session
from ranklet.runtime.onnx.session import Session, run_each, threads, will_run_on_gpu


@pytest.mark.parametrize(("memory", "expected"), [(128, 1), (1769, 1), (3538, 2), (10240, 6)])
def test_lambda_grants_threads_by_memory(
    monkeypatch: pytest.MonkeyPatch, memory: int, expected: int
) -> None:
    monkeypatch.delenv("RANKLET_THREADS", raising=False)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", str(memory))
    assert threads() == expected


def test_the_variable_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
    monkeypatch.setenv("RANKLET_THREADS", "7")
    assert threads() == 7
    monkeypatch.setenv("RANKLET_THREADS", "many")
    with pytest.raises(InputError, match="RANKLET_THREADS is 'many'"):
        threads()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
    ],
)
def test_a_control_group_limits_processors_to_its_quota(
    tmp_path: Path, files: dict[str, str], expected: int
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert session._quota(tmp_path) == expected


@pytest.mark.parametrize("content", ["max 100000", "", "nonsense"])
def test_a_control_group_without_a_limit_limits_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "cpu.max").write_text(content)
    assert session._quota(tmp_path) > 1000


def test_no_more_threads_than_processors() -> None:
    assert 1 <= threads() <= len(os.sched_getaffinity(0))


def test_a_missing_gpu_is_reported() -> None:
    if will_run_on_gpu("auto", strict=False):
        pytest.skip("this machine has CUDA")
    with pytest.warns(RuntimeWarning, match="CUDA was requested"):
        assert not will_run_on_gpu("cuda", strict=False)
    with pytest.raises(InputError, match="CUDA was requested"):
        will_run_on_gpu("cuda", strict=True)
    with pytest.raises(InputError, match="allowed are auto, cpu, cuda"):
        will_run_on_gpu("tpu", strict=False)


def test_many_runs_keep_their_order_and_tell_of_the_first_fault() -> None:
    together = threading.Barrier(3, timeout=60)  # passes only if three runs are under way at once

    class Runs:
        provider, on_gpu, workers, by_length = "here", False, 3, False
        outputs: tuple[str, ...] = ()

        def run(self, output: str, feeds: dict[str, Any]) -> Any:
            if output != "alone":
                together.wait()
            if feeds["at"] == 4:
                raise BundleError("the fourth cannot run")
            return feeds["at"].astype(np.float32)

    inputs = [{"at": np.array(at)} for at in range(6)]
    assert [each.item() for each in run_each(Runs(), "out", inputs[:3])] == [0, 1, 2]
    with pytest.raises(BundleError, match="the fourth"):
        run_each(Runs(), "alone", inputs)
    assert run_each(Runs(), "out", []) == []


def test_telemetry_is_off_before_onnxruntime_is_imported() -> None:
    will_run_on_gpu("cpu", strict=False)
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"


@pytest.mark.parametrize("where", ["beside", "../secret", "absolute"])
def test_a_graph_that_reads_files_outside_of_itself_is_refused(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    for path in (tmp_path / "secret", tmp_path / "here" / "beside"):
        path.write_bytes(np.arange(4, dtype=np.float32).tobytes())
    monkeypatch.chdir(tmp_path / "here")
    location = str(tmp_path / "secret") if where == "absolute" else where
    with pytest.raises(BundleError, match="cannot be loaded"):
        Session(graph(location), "model.onnx", device="cpu")


@pytest.mark.parametrize("content", [b"", b"\x08", b"not a model" * 99, graph()[:-20]])
def test_a_file_that_is_no_graph_is_refused(content: bytes) -> None:
    with pytest.raises(BundleError, match=r"model\.onnx cannot be loaded"):
        Session(content, "model.onnx", device="cpu")
