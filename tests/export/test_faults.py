"""What goes wrong around an export: killed, no room, another model's tokenizer, hostile graphs."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from ranklet.commands import main
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.errors import ExportError
from ranklet.export.options import ExportOptions
from ranklet.runtime import load
from ranklet.runtime.errors import BundleError
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.learning.text_pairs import BatchOptions
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers import repbert

ONE = ExportOptions(variants=("fp32",))
DENSE = [{"stage": "retrieve", "ranker": "dense", "k": 5}]


@pytest.fixture(scope="module")
def dense(tiny_collection: Collection, tiny_bert: Path) -> Checkpoint:
    return repbert.train(
        tiny_collection,
        read_split(tiny_collection, "train"),
        read_split(tiny_collection, "dev"),
        backbone=load_backbone(tiny_bert),
        plan=replace(repbert.PLAN, learning_rate=1e-3, device="cpu"),
        data=BatchOptions(batch=8, max_query_tokens=6, max_document_tokens=8),
    )


@pytest.fixture(scope="module")
def saved(dense: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dense.save(tmp_path_factory.mktemp("saved") / "dense")


def test_texts_over_the_limit_are_cut_and_told(
    dense: Checkpoint,
    tiny_collection: Collection,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rankers = export_bundle({"dense": dense}, tmp_path / "rankers", ONE)
    target = index_bundle(rankers, tiny_collection, tmp_path / "indexed")
    long = [d for d in tiny_collection.documents() if len(f"{d.title} {d.text}".split()) > 6]
    bundle = load(target, device="cpu")
    assert bundle.manifest.rankers["dense"].settings["truncated"] == len(long) > 0
    assert f"{len(long)} of 48 documents are longer than the 8 tokens" in caplog.text
    word = long[0].text.split()[0]
    assert bundle.rank(word, pipeline=DENSE).truncated == {}
    assert bundle.rank(" ".join([word] * 9), pipeline=DENSE).truncated == {"dense": 1}
    own = [" ".join([word] * 9), word]
    assert bundle.rank(word, own, pipeline=DENSE).truncated == {"dense": 1}
    # What is cut off does not count.
    scores = bundle.score(word, [" ".join([word] * 6), " ".join([word] * 60)], pipeline=DENSE)
    assert scores[0] == scores[1]


@pytest.mark.slow
def test_an_export_that_is_killed_leaves_no_bundle_and_can_be_repeated(
    saved: Path, tmp_path: Path
) -> None:
    target = tmp_path / "b"
    command = [sys.executable, "-m", "ranklet", "export", str(saved), "-o", str(target)]
    child = subprocess.Popen([*command, "--variants", "fp32"], stderr=subprocess.DEVNULL)
    while not list(tmp_path.iterdir()) and child.poll() is None:  # it has begun to write
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not target.exists()
    assert main(["export", str(saved), "-o", str(target), "--variants", "fp32"]) == 0
    assert BundleFiles(target, check="full").has("rankers/dense/model.onnx")


@pytest.mark.slow
def test_where_there_is_no_room_nothing_is_left_and_the_error_says_so(
    saved: Path, tmp_path: Path
) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))  # as a full disk: write() fails

    command = [sys.executable, "-m", "ranklet", "export", str(saved), "-o", str(tmp_path / "b")]
    done = subprocess.run(
        [*command, "--variants", "fp32"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=little_room,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_tokenizer_of_another_model_is_refused(dense: Checkpoint, tmp_path: Path) -> None:
    words = {word: at for at, word in enumerate(["[PAD]", "[UNK]", *map(str, range(5000))])}
    other = Tokenizer(WordLevel(words))
    with pytest.raises(ExportError, match=r"5,002 tokens, .* not the model's own"):
        export_bundle({"dense": replace(dense, tokenizer=other)}, tmp_path / "b", ONE)
    assert list(tmp_path.iterdir()) == []


def test_a_tokenizer_swapped_in_a_bundle_is_told(
    dense: Checkpoint, tiny_collection: Collection, tmp_path: Path
) -> None:
    target = export_bundle({"dense": dense}, tmp_path / "b", ONE)
    path = target / "rankers/dense/tokenizer.json"
    number = json.loads(path.read_text())["model"]["vocab"]
    word = next(iter(tiny_collection.documents())).text.split()[0].lower()
    other = path.read_text().replace(f'"{word}":{number[word]}', f'"{word}":99999')
    path.write_text(other)
    with pytest.raises(BundleError, match=r"tokenizer\.json"):
        load(target, check="full", device="cpu")
    swapped(target, "tokenizer.json", other.encode())
    with pytest.raises(BundleError, match="cannot run"):
        load(target, device="cpu").score(word, [word], pipeline=DENSE)


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


@pytest.mark.parametrize("where", ["beside", "../secret", "absolute"])
def test_a_graph_that_reads_files_outside_of_itself_is_refused(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    for path in (tmp_path / "secret", tmp_path / "here" / "beside"):
        path.write_bytes(np.arange(4, dtype=np.float32).tobytes())
    monkeypatch.chdir(tmp_path / "here")
    location = str(tmp_path / "secret") if where == "absolute" else where
    with pytest.raises(BundleError, match="cannot be loaded"):
        Session(graph(location), "model.onnx", device="cpu")


@pytest.mark.parametrize("content", [b"", b"\x08", b"not a model" * 99, graph()[:-20]])
def test_a_file_that_is_no_graph_is_refused(content: bytes) -> None:
    with pytest.raises(BundleError, match=r"model\.onnx cannot be loaded"):
        Session(content, "model.onnx", device="cpu")


def swapped(target: Path, name: str, content: bytes) -> Path:
    """Put another file into a bundle, with a manifest that has its digest."""
    path = f"rankers/dense/{name}"
    (target / path).write_bytes(content)
    manifest = json.loads((target / "manifest.json").read_text())
    manifest["files"][path] |= {
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (graph(), "has no output 'sentence_embedding'"),
        (graph(output="sentence_embedding"), "cannot run"),  # it wants x
    ],
)
def test_a_graph_of_something_else_is_told(
    dense: Checkpoint, tmp_path: Path, content: bytes, told: str
) -> None:
    target = swapped(export_bundle({"dense": dense}, tmp_path / "b", ONE), "model.onnx", content)
    with pytest.raises(BundleError, match=told):
        load(target, device="cpu").score("old", ["river"], pipeline=DENSE)
