"""Which of the models that sentence-transformers saves are exported, by ranklet and by optimum.

The weights are random. RANKLET_OPTIMUM names the python of another environment, which has
optimum-onnx and the transformers that it needs; without it the column stays empty.
"""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.exporting.models import MODELS, save_model
from benchmarks.exporting.original import DOCUMENTS, QUERIES, open_original, read_inputs, score_all
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.export.bundles import export_bundle
from ranklet.export.hub.folder import as_others
from ranklet.export.jobs import ExportJob
from ranklet.export.options import ExportOptions
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.onnx.parity import PARITY
from ranklet.training.imported.importing import read_model
from ranklet.workflows.imported import with_probes

PACKAGES = ("onnxruntime", "sentence-transformers", "transformers", "torch")
OPTIMUM = "RANKLET_OPTIMUM"
SCRIPT = Path(__file__).with_name("optimum_exports.py")
LARGEST = 1e-4  # difference, as a share of the largest number if that is above 1
MODEL_CODE = (
    "benchmarks/exporting/models.py",
    "benchmarks/exporting/original.py",
    "tests/models.py",
)
CODE = ("training", "export", "src/ranklet/workflows", "runtime/rankers", "runtime/onnx",
        "runtime/text")  # fmt: skip


def run(place: Place) -> str:
    """Save, export and compare one model after the other."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    root = Place(place.data, place.work / "exporters")
    folders = {name: root.keep(_file(name), _saved(name), MODEL_CODE) for name in MODELS}
    ours = {
        name: _read(root.keep(f"{_file(name)}.json", _exported(folder), MODEL_CODE))
        for name, folder in folders.items()
    }
    theirs = _by_optimum(root, folders)
    rows = [
        [
            name,
            _verdict(ours[name]),
            ours[name]["int8"],
            ours[name]["hub"][:3].strip(":"),
            theirs.get(name, "")[:70],
        ]
        for name in MODELS
    ]
    equal = [name for name, found in ours.items() if not found["refused"]]
    wrong = [name for name in equal if not ours[name]["difference"] <= LARGEST]
    counts = Counter(said.partition(":")[0] for said in theirs.values())
    head = ["model", "ranklet, fp32", "int8", "folder for others", "optimum-onnx 0.1.0"]
    said = [f"- {name}: {found['refused']}" for name, found in ours.items() if found["refused"]]
    return f"""
*fp32*: the largest difference of a score of {len(QUERIES)} queries and {len(DOCUMENTS)} texts \
from sentence-transformers' own, as a share of the largest score if that is above 1; at most \
{LARGEST:g} is equal. *int8*: Kendall's τ with PyTorch, or refused by our criteria. *optimum*: \
`main_export` with the task that fits, and its graph on the inputs that sentence-transformers 6 \
makes of the texts. It needs transformers below 5, which cannot read most of these folders, so \
names that it does not know are replaced in a copy. It is *wrong* where what the graph returns \
differs and nothing says so, *a part* where the graph ends before the last modules. *Folder for \
others*: `--layout hub`.

ranklet exports {len(equal) - len(wrong)} of {len(MODELS)} models equal within {LARGEST:g}, \
{len(wrong)} wrong, and refuses {len(MODELS) - len(equal)} in one sentence. \
optimum-onnx: {", ".join(f"{count} {name}" for name, count in counts.most_common()) or "not run"}.

{table(head, rows)}

Refused:

{chr(10).join(said)}
"""


def _file(name: str) -> str:
    """Return the name of a model's folder."""
    return "".join(char if char.isalnum() else "-" for char in name)


def _saved(name: str) -> Callable[[Path], None]:
    """Return what saves a model, and what the library makes of texts beside it."""

    def build(path: Path) -> None:
        save_model(name, path)
        kind = MODELS[name][0]
        model = open_original(kind, path)
        scores = score_all(kind, model).tolist()
        known = {"kind": kind, "scores": scores, "rows": read_inputs(kind, model)}
        path.with_name(f"{path.name}.known").write_text(json.dumps(known))

    return build


def _exported(folder: Path) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        found = {"difference": 0.0, "int8": "", "hub": "", "refused": ""}
        try:
            _export(folder, found)
        except RankletError as error:
            found["refused"] = str(error).replace(repr(str(folder)), "the folder")
        path.write_text(json.dumps(found))

    return build


def _export(folder: Path, found: dict[str, Any]) -> None:
    """Export a model as a bundle, which stores scores of texts; say if others can run it."""
    checkpoint = read_model(folder)
    checkpoint = with_probes({"model": checkpoint}, {"model": folder})["model"]
    bundle = folder.with_name("model.ranklet")
    opened = export_bundle({"model": checkpoint}, bundle, overwrite=True)
    theirs = np.array(_read(folder.with_name(f"{folder.name}.known"))["scores"])
    if opened.files.has(file := f"rankers/model/{PARITY}"):
        scores = json.loads(bytes(opened.files.file(file)))["scores"]["fp32"]
        ours = np.array(scores)[: len(QUERIES), : len(DOCUMENTS)]
    else:  # vectors of tokens, and no graph
        whole = ExportOptions(variants=("fp32",))
        opened = export_bundle(
            {"model": checkpoint}, folder.with_name("whole.ranklet"), whole, overwrite=True
        )
        ours = np.empty_like(theirs)
        for at, query in enumerate(QUERIES):
            for hit in opened.rank(query, DOCUMENTS, k=len(DOCUMENTS)):
                ours[at, DOCUMENTS.index(hit.text)] = hit.score
    found["difference"] = float(np.abs(ours - theirs).max() / max(1, np.abs(theirs).max()))
    small = [each for each in read_reports(bundle)["model"] if "int8" in each.variant]
    found["int8"] = "refused" if not small or small[0].refused else f"{small[0].kendall:.3f}"
    try:
        as_others(ExportJob(checkpoint, "model", cast("BundleWriter", None), ExportOptions()))
        found["hub"] = "yes"
    except RankletError as error:
        found["hub"] = f"no: {error}"


def _verdict(found: dict[str, Any]) -> str:
    if found["refused"]:
        return "refused"
    wrong = "" if found["difference"] <= LARGEST else "**wrong**, "
    return f"{wrong}{found['difference']:.0e}"


def _by_optimum(root: Place, folders: dict[str, Path]) -> dict[str, str]:
    """Return what optimum makes of the folders."""
    python = os.environ.get(OPTIMUM)
    if not python:
        return {}
    results = root.work / "optimum.jsonl"
    given = {
        str(folder): str(folder.with_name(f"{folder.name}.known")) for folder in folders.values()
    }
    command = [python, str(SCRIPT), json.dumps(given), str(results)]
    subprocess.run(command, cwd=root.work, check=True, stdout=subprocess.DEVNULL)
    said = dict(json.loads(line) for line in results.read_text().splitlines())
    return {name: said[str(folder)] for name, folder in folders.items()}


def _read(path: Path) -> Any:
    return json.loads(path.read_text())
