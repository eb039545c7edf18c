"""What `parity.json` has, and that a graph which differs from it is found."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import probes, sentence_folder, sentence_transformers

from ranklet.export.hub.folder import export_hub
from ranklet.export.hub.verifying import compare_outputs
from ranklet.export.options import ExportOptions
from ranklet.export.proof.parity import parity_texts
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.parity import PARITY, TOLERANCES
from ranklet.training.imported.importing import read_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the export of a tiny encoder that sentence-transformers has saved."""
    sentence_transformers()
    place = tmp_path_factory.mktemp("model")
    made = sentence_folder(place / "sentences")
    target = tmp_path_factory.mktemp("hub") / "exported"
    options = ExportOptions(variants=("fp32", "int8"), probes=probes())
    export_hub(read_model(made), made, target, options, name="tiny")
    return target


def test_texts_are_fifty_in_many_scripts() -> None:
    texts = parity_texts()
    both = texts.queries + texts.documents
    assert len(both) == 50
    for letter in "aаαกع海隣고":
        assert any(letter in text for text in both), letter


@pytest.mark.slow
def test_another_program_finds_its_own_outputs(folder: Path) -> None:
    import onnxruntime
    from tokenizers import Tokenizer

    said: dict[str, Any] = json.loads((folder / PARITY).read_text("utf-8"))
    (graph,) = said["graphs"]
    texts = [*said["queries"], *said["documents"]]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(folder / graph["files"]["fp32"])
    assert len(texts) == len(graph["runs"]) == len(said["vectors"]) == 50
    for text, run, vector in zip(texts, graph["runs"], said["vectors"], strict=True):
        feeds = {name: np.array(ids) for name, ids in run["inputs"].items()}
        ids = run["inputs"]["input_ids"][0]
        assert tokenizer.encode(text).ids[: len(ids) - 1] == ids[:-1]  # [SEP] ends cut ones
        output = session.run([graph["output"]], feeds)[0]
        assert list(output.shape) == run["shape"]
        assert np.allclose(output.reshape(-1)[run["at"]], run["values"]["torch"], atol=1e-4)
        pooled = output[0].mean(0)
        pooled /= np.linalg.norm(pooled)
        assert np.allclose(pooled[vector["at"]], vector["values"]["torch"], atol=1e-4)
    shape = len(said["queries"]), len(said["documents"])
    assert {name: np.shape(rows) for name, rows in said["scores"].items()} == dict.fromkeys(
        ("torch", "fp32", "int8"), shape
    )
    assert np.allclose(said["scores"]["torch"], said["scores"]["fp32"], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["graph", "value", "no json"])
def test_what_differs_is_found(folder: Path, tmp_path: Path, change: str) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    assert len(list(compare_outputs(copied))) == 2
    said = json.loads((copied / PARITY).read_text("utf-8"))
    if change == "graph":
        files = said["graphs"][0]["files"]
        shutil.copyfile(copied / files["int8"], copied / files["fp32"])
    elif change == "value":
        said["graphs"][0]["runs"][3]["values"]["fp32"][0] += 20 * TOLERANCES["fp32"]
        (copied / PARITY).write_text(json.dumps(said), "utf-8")
    else:
        (copied / PARITY).write_text("{", "utf-8")
    with pytest.raises(BundleError, match=r"differs by .* from parity|cannot be read"):
        list(compare_outputs(copied))


@pytest.mark.slow
def test_batches_are_padded(folder: Path) -> None:
    from tokenizers import Tokenizer

    read = Tokenizer.from_file(str(folder / "tokenizer.json"))
    short, long = read.encode_batch(["a dog", "old rivers run slowly through valleys"])
    assert len(short.ids) == len(long.ids)
    assert sum(short.attention_mask) < len(short.ids)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["check.py", "check.mjs"])
def test_programs_of_others_agree(folder: Path, tmp_path: Path, program: str) -> None:
    command = [sys.executable] if program.endswith(".py") else [shutil.which("node") or "node"]
    there = Path(os.environ.get("NODE_PATH", "")) / "onnxruntime-node"
    place = Path("infra/parity").absolute()
    if program.endswith(".mjs"):
        if not os.environ.get("NODE_PATH") or not there.is_dir():
            pytest.skip("NODE_PATH names no folder with onnxruntime-node")
        shutil.copy(place / program, tmp_path)  # an import looks for packages beside the file
        (tmp_path / "node_modules").symlink_to(there.parent)
        place = tmp_path
    done = subprocess.run(
        [*command, str(place / program), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("50 runs") == 2
