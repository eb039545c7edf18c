"""What runs on the nodes of a cluster: an actor that holds an opened model, and its errors."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ranklet.corpus.building.writer import sha256
from ranklet.corpus.errors import ClusterError
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.variables import Variable
from ranklet.version import __version__

if TYPE_CHECKING:
    import pyarrow

# Packages whose results must not depend on the node.
PACKAGES = (
    "numpy", "onnxruntime", "onnxruntime-gpu", "openvino", "snowballstemmer", "tokenizers",
)  # fmt: skip
# What libraries read the number of their threads from, when they are imported.
THREADS = (Variable.THREADS, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")

Work = Callable[[bytes], bytes]
Open = Callable[[Path, Mapping[str, Any]], Work]


class Order(NamedTuple):
    """What an actor is for.

    Attributes:
        open: a function of a module, which returns what is done with each payload.
        settings: the settings that `open` gets.
        name: the name of the file that `open` reads.
        path: where the driver has it, which nodes may see as well.
        digest: the sha256 of the file.
        packages: what `installed` returned on the driver's machine.
        threads: how many threads libraries may use.
    """

    open: Open
    settings: Mapping[str, Any]
    name: str
    path: str
    digest: str
    packages: Mapping[str, str]
    threads: int


class Worker:
    """An actor of a cluster: opens a file once, and makes a result of each payload.

    Args:
        order: what it is for.
        content: the file's content, as references to its parts.
    """

    def __init__(self, order: Order, content: list[Any]) -> None:
        for name in THREADS:
            os.environ[name] = str(order.threads)
        self._order, self._content = order, content
        self._work: Work | None = None

    def __call__(self, batch: "pyarrow.Table") -> "pyarrow.Table":
        """Return the numbers of some payloads with their results, or with errors."""
        import pyarrow as pa

        rows = zip(*(batch.column(name) for name in ("number", "payload")), strict=True)
        numbers, results, faults = [], [], []
        for number, payload in rows:
            result, fault = self._made(payload.as_py())
            numbers.append(number.as_py())
            results.append(result)
            faults.append(fault)
        return pa.table(
            {
                "number": pa.array(numbers, pa.int64()),
                "result": pa.array(results, pa.large_binary()),
                "fault": pa.array(faults, pa.string()),
            }
        )

    def _made(self, payload: bytes) -> tuple[bytes, str]:
        # An error of Python would reach the user as a traceback of Ray, and Ray would try again.
        try:
            with hint_packages():
                if self._work is None:
                    self._work = self._opened()
                return self._work(payload), ""
        except Exception as error:
            return b"", error_line(error)

    def _opened(self) -> Work:
        order = self._order
        different = [
            f"{name} {here or 'none'} instead of {order.packages[name] or 'none'}"
            for name, here in package_versions().items()
            if here != order.packages[name]
        ]
        if different:
            raise ClusterError(
                f"the node {os.uname().nodename} has {', '.join(different)}; install the same "
                "versions on all nodes"
            )
        own = Path(order.path)
        if own.is_file() and sha256(own) == order.digest:  # the driver's node, or a shared disk
            return order.open(own, order.settings)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / order.name
            with path.open("wb") as file:
                for part in self._parts():
                    file.write(part)
            return order.open(path, order.settings)  # which maps or reads it

    def _parts(self) -> Iterator[bytes]:
        import ray

        for reference in self._content:
            yield ray.get(reference)


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that must be the same everywhere, "" for missing ones."""
    found = {"ranklet": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found


def error_line(error: Exception) -> str:
    """Return an error as a line of text, from which `take_error` makes it again."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, RankletError) else f": {name}: {error}"


def take_error(text: str) -> RankletError:
    """Return the error that `described` has described; ClusterError for another package's error.

    >>> take_error("InputError: the query is empty")
    InputError('the query is empty')
    """
    name, _, message = text.partition(": ")
    for kind in _below(RankletError):
        if kind.__name__ == name:
            return kind(message)
    return ClusterError(f"a node of the cluster failed: {' '.join(message.split())}")


def _below(kind: type[RankletError]) -> Iterator[type[RankletError]]:
    """Yield an error class and all its subclasses."""
    yield kind
    for each in kind.__subclasses__():
        yield from _below(each)
