"""Compare graphs with the outputs that `parity.json` says they had when they were exported."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.session import Session

PARITY = "parity.json"
# The largest difference of a number from the stored one, of the variant itself on another machine.
# It is multiplied by the largest of the run's numbers if that is above 1.
TOLERANCES = {"fp32": 1e-4, "fp16": 1e-2, "int8": 2e-2}


def compare_parity(content: bytes, read: Callable[[str], bytes | None]) -> Iterator[str]:
    """Run each graph on the stored inputs, and yield how much its outputs differ.

    Args:
        content: of the file.
        read: returns the content of a graph by its path beside the file; None if there is none.

    Raises:
        BundleError: the file cannot be read, or a number differs by more than its tolerance.
        MissingPackageError: onnxruntime is not installed.
    """
    try:
        for graph in json.loads(content)["graphs"]:
            for variant, file in graph["files"].items():
                if variant not in TOLERANCES or (model := read(file)) is None:
                    continue
                session, worst = Session(model, file, device="cpu"), 0.0
                for run in graph["runs"]:
                    feeds = {name: np.array(ids) for name, ids in run["inputs"].items()}
                    values = session.run(graph["output"], feeds)
                    difference = _difference(values, run, variant)
                    if not difference <= TOLERANCES[variant]:
                        raise BundleError(
                            f"{file} differs by {difference:.1e} from {PARITY}, where at most "
                            f"{TOLERANCES[variant]:g} is allowed; export the model again"
                        )
                    worst = max(worst, difference)
                yield f"{PARITY}: {len(graph['runs'])} runs of {file} differ by {worst:.1e} at most"
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BundleError(f"{PARITY} cannot be read: {error!r:.200}; export it again") from error


def _difference(values: NDArray[np.float32], run: Any, variant: str) -> float:
    """Return the largest difference of a run's stored numbers, as `TOLERANCES` count it."""
    stored = np.array(run["values"][variant], np.float64)
    if list(values.shape) != run["shape"]:
        return float("inf")
    found = np.append(values.reshape(-1)[run["at"]], np.linalg.norm(values.astype(np.float64)))
    expected = np.append(stored, run["norm"][variant])
    scales = np.append(np.full(len(stored), np.abs(stored).max(initial=1)), max(1, expected[-1]))
    return float((np.abs(found - expected) / scales).max())
