"""Run models in onnxruntime sessions; no other file of the runtime imports onnxruntime."""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import DEVICES, check_one_of
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.onnx.self_contained import check_onnx

MB_PER_CPU = 1769  # AWS Lambda grants one processor per this much memory, but shows more
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def threads() -> int:
    """Return the number of processors that are granted, which may be fewer than are visible.

    RANKLET_THREADS has precedence over Lambda's memory size. Otherwise it is the smaller of the
    process's affinity and the quota of its control group.

    Raises:
        InputError: RANKLET_THREADS is no number from 1 to 1,024.
    """
    if value := os.environ.get(Variable.THREADS):
        if not (value.isascii() and value.isdecimal()) or not 0 < int(value) <= 1024:
            raise InputError(f"{Variable.THREADS} is {value!r}; it must be a number from 1 to 1024")
        return int(value)
    if memory := os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"):
        return max(1, round(int(memory) / MB_PER_CPU))
    return processors()


def processors() -> int:
    """Return the processors that the affinity and the control group of this process grant."""
    # Neither macOS nor Windows has affinities.
    known = hasattr(os, "sched_getaffinity")
    usable = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    return max(1, min(usable, _quota(Path("/sys/fs/cgroup"))))


def _quota(root: Path) -> int:
    """Return how many processors a control group grants, rounded up; huge without a limit."""
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
    """Runs a model: a `Session`, an `OpenVINOSession`, or PyTorch while variants are proven.

    Attributes:
        provider: the provider that the model runs on.
        on_gpu: whether the model runs on CUDA.
        workers: how many runs are worth executing in parallel.
        by_length: whether inputs of the same shape should run one after another.
        outputs: the names of the model's outputs.
    """

    provider: str
    on_gpu: bool
    workers: int
    by_length: bool
    outputs: tuple[str, ...]

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Run the model on its inputs."""
        ...


class Model:
    """A model with names of its inputs and outputs, which messages call `name`."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def own_feeds(self, output: str, feeds: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the feeds that are inputs; raise BundleError if there is no such output."""
        if output not in self.outputs:
            raise BundleError(f"{self.name} has no output {output!r}; it has {self.outputs}")
        return {each: values for each, values in feeds.items() if each in self.inputs}


class Session(Model):
    """A model ready to run on one provider.

    Args:
        model: the content of the ONNX file.
        name: the name of the file, for messages.
        device: ``cpu``, ``cuda``, or ``auto`` for CUDA if it is available.
        strict: raise instead of warning if CUDA is requested but not available.
        many: whether many inputs run at a time, each alone. On a CPU each run then uses one thread,
            and there are as many parallel runs as threads. This is 1.36 times as fast for 128
            tokens on two processors as successive runs on all threads (docs/maintainers/log).

    Raises:
        InputError: the device is unknown, or `strict` is set and CUDA is not available.
        BundleError: the file is not a model that onnxruntime can load, or it names other files.
    """

    by_length = False

    def __init__(
        self,
        model: memoryview | bytes,
        name: str,
        *,
        device: str = "auto",
        strict: bool = False,
        many: bool = False,
    ) -> None:
        check_onnx(model, name)
        ort = onnxruntime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1 if many else threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # none, because errors are raised, and warnings help no user
        # An arena would keep the memory of the largest input, but texts differ widely in length.
        options.enable_cpu_mem_arena = False
        on_gpu = will_run_on_gpu(device, strict=strict)
        if on_gpu and hasattr(ort, "preload_dlls"):
            ort.preload_dlls()  # CUDA and cuDNN in NVIDIA's wheels, which are on no loader path
        providers: list[Any] = [PROVIDERS["cpu"]]
        if on_gpu:
            # Otherwise fp32 would be multiplied with the 10 bits of TF32, as exactly as fp16.
            providers.insert(0, (PROVIDERS["cuda"], {"use_tf32": "0"}))
        try:
            with _loadable(model) as source:
                self._session: Any = ort.InferenceSession(source, options, providers=providers)
        except Exception as error:  # onnxruntime raises many kinds, all derived from Exception
            raise BundleError(f"{name} cannot be loaded by onnxruntime: {error}") from error
        self.provider: str = self._session.get_providers()[0]
        self.on_gpu = self.provider == PROVIDERS["cuda"]
        if on_gpu and not self.on_gpu:
            _lost(self.provider, strict)
        self.inputs = tuple(each.name for each in self._session.get_inputs())
        self.outputs = tuple(each.name for each in self._session.get_outputs())
        self.workers = threads() if many and not self.on_gpu else 1
        self.name = name

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Run the model, passing only the feeds that are inputs of the model.

        Raises:
            BundleError: the model has no such output or cannot run on these inputs.
        """
        own_feeds = self.own_feeds(output, feeds)
        try:
            (values,) = self._session.run([output], own_feeds)
        except Exception as error:
            raise BundleError(f"{self.name} cannot run: {error}") from error
        return np.asarray(values, np.float32)


@contextmanager
def _loadable(model: memoryview | bytes) -> Iterator[str | bytes]:
    """Yield the name of a file in memory that holds a model, or its bytes where there are none.

    onnxruntime keeps a copy of a model that it gets as bytes, of a multilingual one .12 GB.
    """
    try:
        file = os.fdopen(os.memfd_create("model"), "wb")  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):  # not Linux, or not allowed
        yield bytes(model)
        return
    with file:
        file.write(model)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


def run_each(
    session: Runs, output: str, inputs: Iterable[dict[str, NDArray[Any]]]
) -> list[NDArray[np.float32]]:
    """Run a model on each input, in parallel if that is faster, and return the results in order.

    Raises:
        BundleError: see `Session.run`.
    """
    every, run = list(inputs), partial(session.run, output)
    order: Sequence[int] = range(len(every))
    if session.by_length:  # inputs of the same shape, one after another
        order = sorted(order, key=lambda at: [values.shape for values in every[at].values()])
    ordered = [every[at] for at in order]
    if session.workers == 1:
        results = list(map(run, ordered))
    else:
        from concurrent.futures import ThreadPoolExecutor  # takes long, and one text needs none

        with ThreadPoolExecutor(session.workers) as pool:
            results = list(pool.map(run, ordered))
    return [result for _, result in sorted(zip(order, results, strict=True), key=itemgetter(0))]


def will_run_on_gpu(device: str, *, strict: bool) -> bool:
    """Return whether a device setting selects CUDA; warn if CUDA is requested but not available.

    Raises:
        InputError: the device is unknown, or `strict` is set and CUDA is requested but not
            available.
    """
    check_one_of("device", device, DEVICES)
    available = PROVIDERS["cuda"] in onnxruntime().get_available_providers()
    if device == "cuda" and not available:
        _lost(PROVIDERS["cpu"], strict)
    return available and device != "cpu"


def _lost(provider: str, strict: bool) -> None:
    message = (
        f"CUDA was requested, but only {provider} is available; install onnxruntime-gpu for the "
        "driver's CUDA (1.26 or less for CUDA 12, 1.28 or more for CUDA 13) in place of onnxruntime"
    )
    if strict:
        raise InputError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=4)


def quiet_telemetry() -> None:
    """Keep onnxruntime from reporting over the network; call this before importing it.

    The wheels for Linux report since 1.29, unless this variable is set first.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def onnxruntime() -> Any:
    """Return the package.

    Raises:
        MissingPackageError: it is not installed.
    """
    quiet_telemetry()
    with hint_packages():
        import onnxruntime as package

    return package
