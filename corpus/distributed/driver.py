"""The process that is connected to a Ray cluster; ranklet.corpus.distributed.cluster starts it.

It reads from a connection where the cluster is, and answers with an error or nothing. Then it reads
tasks, each of which is followed by payloads and `END`, and answers for each payload with an error
or nothing, with its number and with a result. It ends when the connection does.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.building.writer import sha256, write_zip
from ranklet.corpus.distributed.node import Order, Worker, error_line, package_versions
from ranklet.corpus.distributed.options import EngineOptions
from ranklet.corpus.errors import ClusterError
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.onnx.session import processors

END = b""  # follows the last payload; no payload is empty
PART = 64 << 20  # bytes of an object that holds a part of a file


class Actors(NamedTuple):
    """How many actors there are, and what each reserves."""

    number: int
    cpus: float
    gpus: float


def packed(value: Mapping[str, Any]) -> bytes:
    """Return an order as it is sent."""
    return json.dumps(value).encode()


def serve(connection: Connection) -> None:
    """Do what a connection asks for until it ends."""
    import ray

    with suppress(EOFError, ConnectionError):
        try:
            pool = _begin(**json.loads(connection.recv_bytes()))
        except Exception as error:  # all of Ray's, and they are for the other end
            connection.send_bytes(error_line(error).encode())
            return
        connection.send_bytes(b"")
        while True:
            order = json.loads(connection.recv_bytes())
            _serve_task(connection, order, pool)
    ray.shutdown()


def _begin(address: str, options: Mapping[str, Any]) -> Actors:
    """Connect to a cluster, or start Ray on this machine if there is no address.

    Raises:
        InputError: the cluster is too small.
        ClusterError: no cluster answers.
    """
    import ray

    # The process that gives the work is not one of Ray's, so no processor is left for it.
    own = {"num_cpus": processors() + 1, "include_dashboard": False} if not address else {}
    try:
        ray.init(address or "local", log_to_driver=False, **own)
    except Exception as error:
        raise ClusterError(
            f"no cluster of Ray can be used at {address or 'this machine'!r}: {_line(error)}; run "
            "this on a node of the cluster, and give HOST:PORT as `ray start --head` printed it"
        ) from error
    return actors(EngineOptions(**options), ray.cluster_resources())


def actors(options: EngineOptions, resources: Mapping[str, float]) -> Actors:
    """Return the actors that a cluster can hold.

    One processor is left to Ray's own tasks, because Ray would wait for it forever.

    >>> actors(EngineOptions(engine="ray"), {"CPU": 8.0})
    Actors(number=7, cpus=1.0, gpus=0.0)
    >>> actors(EngineOptions(engine="ray"), {"CPU": 1.0})
    Actors(number=1, cpus=0.5, gpus=0.0)

    Args:
        options: how many are wanted, and their GPUs.
        resources: what the cluster has, ``CPU`` and ``GPU``.

    Raises:
        InputError: the cluster has less than is wanted.
    """
    cpus, gpus = int(resources.get("CPU", 0)), options.gpus_per_actor or 0.0
    if not cpus:
        raise InputError("the cluster has no processor for actors; add a node with --num-cpus 2")
    most = max(1, cpus - 1)
    if gpus:
        most = min(most, int(resources.get("GPU", 0) / gpus))
        if not most:
            raise InputError(
                f"--gpus-per-actor is {gpus:g}, but the cluster has {resources.get('GPU', 0):g} "
                "GPUs; add a node with GPUs, or leave the option out"
            )
    if (options.num_actors or 1) > most:
        raise InputError(
            f"--num-actors is {options.num_actors}, but the cluster has room for {most}, because "
            "one processor is left to Ray; leave the option out to use all others"
        )
    return Actors(options.num_actors or most, 1.0 if cpus > 1 else 0.5, gpus)


def _serve_task(connection: Connection, task: Mapping[str, Any], pool: Actors) -> None:
    """Read the payloads of a task, and answer to each, up to the first error."""
    payloads = iter(connection.recv_bytes, END)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            order, content = _order(task, Path(scratch), pool)
            blocks = [_put(number, payload) for number, payload in enumerate(payloads)]
            for row in _results(blocks, order, content, pool):
                connection.send_bytes(row["fault"].encode())
                if row["fault"]:
                    return
                connection.send_bytes(str(row["number"]).encode())
                connection.send_bytes(row["result"])
    except (EOFError, ConnectionError):
        raise
    except Exception as error:  # all of Ray's, and they are for the other end
        for _ in payloads:  # nobody listens before the last is sent
            pass
        connection.send_bytes(error_line(error).encode())


def _order(task: Mapping[str, Any], scratch: Path, pool: Actors) -> tuple[Order, list[Any]]:
    """Return what actors are for, and references to the parts of the task's file."""
    import ray

    path = Path(task["path"])
    if path.is_dir():
        path = scratch / f"{path.name.removesuffix('.zip')}.zip"
        write_zip(Path(task["path"]), path)
    content = []
    with path.open("rb") as file:
        while part := file.read(PART):
            content.append(ray.put(part))
    module, _, name = task["open"].partition(":")
    order = Order(
        open=attrgetter(name)(import_module(module)),
        settings=task["settings"],
        name=path.name,
        path=str(path),
        digest=sha256(path),
        packages=package_versions(),
        threads=max(1, int(pool.cpus)),
    )
    return order, content


def _put(number: int, payload: bytes) -> Any:
    """Return a reference to a block of one row, which this process owns as long as it lives."""
    import pyarrow as pa

    return pa.table(
        {
            "number": pa.array([number], pa.int64()),
            "payload": pa.array([payload], pa.large_binary()),
        }
    )


def _results(
    blocks: list[Any], order: Order, content: list[Any], pool: Actors
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of payloads with their errors and results, each of them once.

    Raises:
        ClusterError: Ray has lost a result, or has one twice.
    """
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    if not blocks:
        return
    context = DataContext.get_current()
    context.enable_progress_bars = False
    done = ray.data.from_arrow(blocks).map_batches(
        Worker,
        batch_size=None,  # a block is a batch
        batch_format="pyarrow",
        fn_constructor_args=(order, content),
        # A node that is lost may leave room for fewer actors.
        compute=ActorPoolStrategy(min_size=1, initial_size=pool.number, max_size=pool.number),
        num_cpus=pool.cpus,
        num_gpus=pool.gpus,
    )
    missing = set(range(len(blocks)))
    for batch in done.iter_batches(batch_size=None, batch_format="pyarrow"):
        for row in batch.to_pylist():
            if row["number"] not in missing:
                raise ClusterError(f"Ray has returned the result {row['number']} twice")
            missing.remove(row["number"])
            yield row
    if missing:
        raise ClusterError(f"Ray has lost {len(missing)} of {len(blocks)} results")


def _line(error: BaseException) -> str:
    """Return the last line of an error's message, which says most in Ray's errors."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
