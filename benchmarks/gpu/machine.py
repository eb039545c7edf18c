"""The machine: its GPU, driver, CUDA and packages; and what it lacks.

``python -m benchmarks.gpu.machine`` prints what it lacks as a JSON list.
"""

import json
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.gpu.setting import Result, Setting, last_line
from ranklet.runtime.onnx.session import PROVIDERS, Session, quiet_telemetry

HEAD = ("", "version")
ABOUT = ""

INSTALL_ONNXRUNTIME = (
    "install onnxruntime-gpu in its place, 1.26 or less for CUDA 12, 1.28 or more for CUDA 13"
)
UNKNOWN = "unknown"
DRIVER = Path("/proc/driver/nvidia/version")


def rows(setting: Setting) -> Iterator[Result]:
    """Yield what the figures depend on."""
    import torch

    quiet_telemetry()
    import onnxruntime

    if setting.device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        yield Result(("GPU", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"))
        yield Result(("compute capability", f"{properties.major}.{properties.minor}"))
    yield Result(("driver", driver()))
    yield Result(("CUDA of torch", str(torch.version.cuda)))
    yield Result(("CUDA of onnxruntime", getattr(onnxruntime, "cuda_version", "") or UNKNOWN))
    yield Result(("torch", torch.__version__))
    yield Result(("onnxruntime", onnxruntime.__version__))
    yield Result(("providers", ", ".join(onnxruntime.get_available_providers())))


def driver() -> str:
    """Return the version of NVIDIA's driver, or `UNKNOWN`."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
        return done.stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        pass
    try:
        return last_line(DRIVER.read_text().splitlines()[0])
    except (OSError, IndexError):
        return UNKNOWN


def lacking() -> list[str]:
    """Return what stands against running models on a GPU here, each with its remedy."""
    quiet_telemetry()
    found = []
    for name, check in (("torch", lacks_torch), ("onnxruntime", lacks_onnxruntime)):
        try:
            found.append(check(import_module(name)))
        except ImportError as error:
            found.append(f"{name} cannot be imported ({last_line(str(error))})")
    if not any(found):
        found.append(lacks_libraries())
    elif driver() == UNKNOWN:
        found.insert(0, "no driver of NVIDIA answers, so there may be no GPU")
    return [each for each in found if each]


def lacks_torch(torch: Any) -> str:
    """Return why a PyTorch cannot use a GPU, or ""."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA (install its build with CUDA)"
    if not torch.cuda.is_available():
        return (
            f"torch {torch.__version__} finds no GPU that it can use (is there one, and a driver "
            f"for CUDA {torch.version.cuda}?)"
        )
    return ""


def lacks_onnxruntime(onnxruntime: Any) -> str:
    """Return why an onnxruntime cannot use a GPU, or ""."""
    if PROVIDERS["cuda"] in onnxruntime.get_available_providers():
        return ""
    return (
        f"onnxruntime {onnxruntime.__version__} is the build for processors ({INSTALL_ONNXRUNTIME})"
    )


def lacks_libraries() -> str:
    """Return why onnxruntime cannot load CUDA, or ""; it finds out when it opens a model."""
    try:
        Session(small_model(), "a small model", device="cuda", strict=True)
    except Exception as error:  # whatever a mismatch of CUDA raises
        return f"onnxruntime-gpu cannot load CUDA: {last_line(str(error))}"
    return ""


def small_model() -> bytes:
    """Return an ONNX model that multiplies two matrices, readable by every onnxruntime."""
    from onnx import TensorProto, helper

    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "abc"]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"])], "small", values[:2], values[2:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


if __name__ == "__main__":
    print(json.dumps(lacking()))
