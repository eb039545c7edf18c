"""What is said where PyTorch or onnxruntime cannot use a GPU."""

import importlib
import re
from types import SimpleNamespace
from typing import Any

import pytest

from ranklet.runtime.onnx.session import Session

machine = pytest.importorskip("benchmarks.gpu.machine")


def torch(cuda: str | None, *, available: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        __version__="2.13.0",
        version=SimpleNamespace(cuda=cuda),
        cuda=SimpleNamespace(is_available=lambda: available),
    )


def onnxruntime(*providers: str) -> SimpleNamespace:
    return SimpleNamespace(__version__="1.28.0", get_available_providers=lambda: list(providers))


GOOD_TORCH = torch("13.0", available=True)
GOOD_ONNXRUNTIME = onnxruntime("CUDAExecutionProvider", "CPUExecutionProvider")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (torch(None), "torch 2.13.0 is built without CUDA"),
        (torch("13.0"), "torch 2.13.0 finds no GPU that it can use .* a driver for CUDA 13.0"),
        (GOOD_TORCH, "^$"),
    ],
)
def test_what_torch_lacks(found: Any, said: str) -> None:
    assert re.search(said, machine.lacks_torch(found))


def test_what_onnxruntime_lacks() -> None:
    said = machine.lacks_onnxruntime(onnxruntime("AzureExecutionProvider", "CPUExecutionProvider"))
    assert said.startswith(
        "onnxruntime 1.28.0 is the build for processors (install onnxruntime-gpu"
    )
    assert machine.lacks_onnxruntime(GOOD_ONNXRUNTIME) == ""


def lacking_of(
    modules: dict[str, Any], monkeypatch: pytest.MonkeyPatch, driver: str = "580.1"
) -> list[str]:
    """Return what is lacking where these modules are installed."""

    def import_module(name: str) -> Any:
        if name not in modules:
            raise ImportError(f"No module named {name!r}")
        return modules[name]

    monkeypatch.setattr(machine, "import_module", import_module)
    monkeypatch.setattr(machine, "driver", lambda: driver)
    found: list[str] = machine.lacking()
    return found


def test_all_that_is_lacking_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = lacking_of({"torch": torch(None)}, monkeypatch)
    assert first.startswith("torch 2.13.0 is built without CUDA")
    assert second == "onnxruntime cannot be imported (No module named 'onnxruntime')"


def test_a_missing_driver_is_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {"torch": torch("13.0"), "onnxruntime": GOOD_ONNXRUNTIME}
    found = lacking_of(modules, monkeypatch, machine.UNKNOWN)
    assert found[0] == "no driver of NVIDIA answers, so there may be no GPU"
    assert len(found) == 2


def test_libraries_that_cannot_be_loaded_are_found_by_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "CUDAExecutionProvider" in importlib.import_module("onnxruntime").get_available_providers():
        pytest.skip("this machine has onnxruntime-gpu")
    modules = {"torch": GOOD_TORCH, "onnxruntime": GOOD_ONNXRUNTIME}
    (said,) = lacking_of(modules, monkeypatch)
    assert said.startswith("onnxruntime-gpu cannot load CUDA: CUDA was requested, but only CPU")
    monkeypatch.setattr(machine, "lacks_libraries", lambda: "")
    assert lacking_of(modules, monkeypatch) == []


def test_the_model_that_is_tried_can_be_opened() -> None:
    assert Session(machine.small_model(), "small", device="cpu").outputs == ("c",)


def test_the_driver_is_that_of_nvidia_smi_or_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    done = SimpleNamespace(stdout="580.159.04\n")
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: done)
    assert machine.driver() == "580.159.04"

    def missing(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError("nvidia-smi")

    monkeypatch.setattr(machine.subprocess, "run", missing)
    kernel = tmp_path / "version"
    monkeypatch.setattr(machine, "DRIVER", kernel)
    assert machine.driver() == machine.UNKNOWN
    kernel.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.1\nGCC\n", "utf-8")
    assert machine.driver() == "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.1"
