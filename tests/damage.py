"""What is put into a bundle to try what it does: other files, with a manifest that lists them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.manifest import MANIFEST, seal_manifest

Change = Callable[[NDArray[Any]], NDArray[Any]]


def change_manifest(bundle: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the manifest of a bundle, which gets the right digest again; return the bundle."""
    path = bundle / MANIFEST
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    path.write_text(seal_manifest(manifest), "utf-8")
    return bundle


def replace_file(bundle: Path, name: str, content: bytes) -> Path:
    """Replace a file of a bundle, and its size and sha256 in the manifest; return the bundle."""
    (bundle / name).write_bytes(content)
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return change_manifest(bundle, lambda manifest: manifest["files"].update({name: entry}))


def change_array(bundle: Path, name: str, change: Change) -> Path:
    """Change the values of an .npy file of a bundle; return the bundle."""
    np.save(bundle / name, change(np.load(bundle / name)))
    return replace_file(bundle, name, (bundle / name).read_bytes())


def with_settings(bundle: Path, ranker: str, **settings: Any) -> Path:
    """Change settings of a bundle's ranker in the manifest; return the bundle."""
    return change_manifest(
        bundle, lambda manifest: manifest["rankers"][ranker]["settings"].update(settings)
    )


def put(value: float, at: Any = 0) -> Change:
    """Return a change of an array's values at an index or a slice."""

    def change(held: NDArray[Any]) -> NDArray[Any]:
        made = held.copy()
        made[at] = value
        return made

    return change


def graph(location: str = "", *, output: str = "y") -> bytes:
    """Return a small ONNX model: y = x + w, with w in another file where a location is given."""
    from onnx import TensorProto, helper

    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
    if location:
        w.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", "0"), ("length", "16")):
            w.external_data.add(key=key, value=value)
    else:
        w.raw_data = np.full(4, np.nan, np.float32).tobytes()
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", output)]
    made = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], [output])], "g", ends[:1], ends[1:], [w]
    )
    opset = [helper.make_opsetid("", 17)]
    content: bytes = helper.make_model(made, opset_imports=opset, ir_version=8).SerializeToString()
    return content
