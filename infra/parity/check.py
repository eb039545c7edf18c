"""Compare the graphs of an export with its parity.json: python check.py FOLDER.

It needs onnxruntime and numpy. FOLDER is what `export-onnx --layout hub` wrote, or rankers/NAME of
a bundle. Programs in other languages do the same.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

folder = Path(sys.argv[1])
parity = json.loads((folder / "parity.json").read_text("utf-8"))
wrong = 0
for graph in parity["graphs"]:
    for variant, tolerance in parity["tolerances"].items():
        if variant not in graph["files"]:
            continue
        session = onnxruntime.InferenceSession(folder / graph["files"][variant])
        worst = 0.0
        for run in graph["runs"]:
            known = {each.name for each in session.get_inputs()}
            feeds = {name: np.array(ids) for name, ids in run["inputs"].items() if name in known}
            found = session.run([graph["output"]], feeds)[0].reshape(-1)[run["at"]]
            stored = np.array(run["values"][variant])
            largest = max(1, np.abs(stored).max())
            worst = max(worst, float(np.abs(found - stored).max() / largest))
        print(f"{graph['files'][variant]}: {len(graph['runs'])} runs differ by {worst:.1e} at most")
        wrong += not worst <= tolerance
sys.exit(1 if wrong else 0)
