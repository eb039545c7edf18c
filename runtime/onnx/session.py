"""onnxruntime sessions: the one file that imports onnxruntime."""

import os
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError, InputError

MB_PER_CPU = 1769  # AWS Lambda grants one processor for so much memory, and shows more
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
THREADS_VARIABLE = "RANKLET_THREADS"


def threads() -> int:
    """Return how many threads are worth starting: what is granted, not what is shown.

    RANKLET_THREADS wins; then Lambda's memory size; then the least of the processors that this
    process may run on and the quota of its control group.
    """
    if given := os.environ.get(THREADS_VARIABLE):
        if not given.isdecimal() or not 0 < int(given) <= 1024:
            raise InputError(f"{THREADS_VARIABLE} is {given!r}; it must be a number from 1 to 1024")
        return int(given)
    if memory := os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"):
        return max(1, round(int(memory) / MB_PER_CPU))
    return max(1, min(len(os.sched_getaffinity(0)), _quota(Path("/sys/fs/cgroup"))))


def _quota(root: Path) -> int:
    """Return the processors that a control group grants, rounded up; huge where it has no limit."""
    try:
        quota, period = (root / "cpu.max").read_text().split()  # version 2
    except (OSError, ValueError):
        try:
            quota = (root / "cpu/cpu.cfs_quota_us").read_text().strip()  # version 1
            period = (root / "cpu/cpu.cfs_period_us").read_text()
        except OSError:
            return 1 << 20
    if not quota.isdecimal() or not int(period):  # "max" or -1
        return 1 << 20
    return -(-int(quota) // int(period))


class Runs(Protocol):
    """What runs a model: a `Session`, or PyTorch in its place when variants are proven."""

    @property
    def provider(self) -> str:
        """What it runs on."""
        ...

    @property
    def on_gpu(self) -> bool:
        """True if and only if it runs on CUDA."""
        ...

    @property
    def workers(self) -> int:
        """How many runs are worth having side by side."""
        ...

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Run the model on its inputs."""
        ...


class Session:
    """A model ready to run on one provider.

    Args:
        model: the ONNX file's content.
        name: of the file, for messages.
        device: ``cpu``, ``cuda``, or ``auto``: CUDA where it is there, else the processor.
        strict: raise where CUDA was asked for and cannot be had, instead of warning.
        many: it runs many inputs at a time, each alone: on a processor each run then has one thread
            and as many go side by side, which is 1.36 times as fast for 128 tokens on two
            processors (docs/LOG.md) as one run after another on all threads.

    Raises:
        InputError: an unknown device, or `strict` and no CUDA.
        BundleError: the file is not a model that onnxruntime can load.
    """

    def __init__(
        self,
        model: memoryview | bytes,
        name: str,
        *,
        device: str = "auto",
        strict: bool = False,
        many: bool = False,
    ) -> None:
        ort = _onnxruntime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1 if many else threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only: warnings about nodes help no user
        # An arena keeps the memory of the largest input ever seen; texts differ widely in length.
        options.enable_cpu_mem_arena = False
        on_gpu = will_run_on_gpu(device, strict=strict)
        if on_gpu and hasattr(ort, "preload_dlls"):
            ort.preload_dlls()  # CUDA and cuDNN out of NVIDIA's wheels, which no loader path names
        wanted = [PROVIDERS["cuda"], PROVIDERS["cpu"]] if on_gpu else [PROVIDERS["cpu"]]
        try:
            self._session: Any = ort.InferenceSession(bytes(model), options, providers=wanted)
        except Exception as error:  # onnxruntime raises many kinds, all derived from Exception
            raise BundleError(f"{name} cannot be loaded by onnxruntime: {error}") from error
        self.provider: str = self._session.get_providers()[0]
        if wanted[0] != self.provider:
            _lost(self.provider, strict)
        self.inputs = tuple(each.name for each in self._session.get_inputs())
        self.outputs = tuple(each.name for each in self._session.get_outputs())
        self.workers = threads() if many and not self.on_gpu else 1
        self._name = name

    @property
    def on_gpu(self) -> bool:
        """True if and only if the model runs on CUDA."""
        return self.provider == PROVIDERS["cuda"]

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Run the model on its inputs, feeding only those that it has.

        Raises:
            BundleError: the model has no such output, or cannot run on these inputs.
        """
        if output not in self.outputs:
            raise BundleError(f"{self._name} has no output {output!r}; it has {self.outputs}")
        fed = {name: values for name, values in feeds.items() if name in self.inputs}
        try:
            (found,) = self._session.run([output], fed)
        except Exception as error:
            raise BundleError(f"{self._name} cannot run: {error}") from error
        return np.asarray(found, np.float32)


def run_each(
    session: Runs, output: str, inputs: Iterable[dict[str, NDArray[Any]]]
) -> list[NDArray[np.float32]]:
    """Run a model on each of some inputs, side by side where that pays; the results in order.

    Raises:
        BundleError: see `Session.run`.
    """
    run = partial(session.run, output)
    if session.workers == 1:
        return [run(feeds) for feeds in inputs]
    with ThreadPoolExecutor(session.workers) as pool:
        return list(pool.map(run, inputs))


def will_run_on_gpu(device: str, *, strict: bool) -> bool:
    """Return whether a device setting leads to CUDA here: loud where it was asked for and is not.

    Raises:
        InputError: an unknown device, or `strict` and no CUDA though it was asked for.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(f"device is {device!r}; allowed are auto, cpu and cuda")
    available = PROVIDERS["cuda"] in _onnxruntime().get_available_providers()
    if device == "cuda" and not available:
        _lost(PROVIDERS["cpu"], strict)
    return available and device != "cpu"


def _lost(provider: str, strict: bool) -> None:
    told = (
        f"CUDA was asked for and {provider} is what there is: install onnxruntime-gpu for the "
        "driver's CUDA (1.26 or less for CUDA 12, 1.28 or more for CUDA 13), not beside onnxruntime"
    )
    if strict:
        raise InputError(told)
    warnings.warn(told, RuntimeWarning, stacklevel=4)


def quiet_telemetry() -> None:
    """Keep onnxruntime from reporting over the network; to be called before it is imported.

    The wheels for Linux do so since 1.29, unless this variable is set first.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def _onnxruntime() -> Any:
    quiet_telemetry()
    import onnxruntime

    return onnxruntime
