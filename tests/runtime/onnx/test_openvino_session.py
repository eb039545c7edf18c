"""OpenVINO runs a tiny model alone, side by side and padded, and damaged files are refused."""

import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.openvino_session import STEP, OpenVINOSession
from ranklet.runtime.onnx.session import run_each

openvino = pytest.importorskip("openvino")

Feeds = dict[str, NDArray[np.int64]]
TABLE = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A model that looks up one value of each token, and sums the vectors of a text."""
    from openvino import opset13 as ops

    shape = openvino.PartialShape([-1, -1])
    ids, mask = (ops.parameter(shape, np.int64) for _ in range(2))
    ids.output(0).set_names({"input_ids"})
    mask.output(0).set_names({"attention_mask"})
    weights = ops.unsqueeze(ops.convert(mask, "f32"), 2)
    vectors = ops.multiply(ops.gather(ops.constant(TABLE), ids, 0), weights)
    total, first = ops.reduce_sum(vectors, 1), ops.gather(vectors, 0, 2)
    total.output(0).set_names({"total"})
    first.output(0).set_names({"first"})
    path = tmp_path_factory.mktemp("model") / "model.xml"
    model = openvino.Model([total, first], [ids, mask])
    openvino.save_model(model, str(path), compress_to_fp16=False)
    return path.read_bytes(), path.with_suffix(".bin").read_bytes()


def feeds(tokens: int, seed: int = 0) -> Feeds:
    ids = np.random.default_rng(seed).integers(0, 50, (1, tokens))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": ids * 0}


@pytest.mark.parametrize("tokens", [1, STEP - 1, STEP, STEP + 1, 40])
def test_padding_is_in_no_result(tokens: int, files: tuple[bytes, bytes]) -> None:
    session, inputs = OpenVINOSession(*files, "m.xml"), feeds(tokens)
    vectors = TABLE[inputs["input_ids"]]
    np.testing.assert_array_equal(session.run("first", inputs), vectors[:, :, 0])
    np.testing.assert_allclose(session.run("total", inputs), vectors.sum(1), rtol=1e-5)


def test_padding_has_a_mask_of_0_and_gives_few_shapes(
    files: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, shapes = OpenVINOSession(*files, "m.xml"), set[tuple[int, ...]]()

    class Noted:
        def infer(self, inputs: Feeds, **options: Any) -> Any:
            shapes.add(inputs["input_ids"].shape)
            assert not inputs["attention_mask"][:, 20:].any()
            return {"total": np.zeros((1, 3))}

    session._free.append(Noted())
    for tokens in range(1, 20):
        session.run("total", feeds(tokens))
    assert shapes == {(1, STEP), (1, 2 * STEP)}


@pytest.mark.parametrize("threads", ["1", "2"])
def test_many_runs_give_what_each_gives_alone(
    threads: str, files: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_THREADS", threads)
    one, many = OpenVINOSession(*files, "m.xml"), OpenVINOSession(*files, "m.xml", many=True)
    assert (one.workers, many.workers) == (1, int(threads))
    assert one.provider == many.provider == "OpenVINO"
    inputs = [feeds(tokens, tokens) for tokens in (40, 3, 17, 40, 5, 3, 90, 1)]
    alone = [one.run("first", each) for each in inputs]
    together = run_each(many, "first", inputs)
    for ours, theirs in zip(together, alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("damage", ["empty", "cut", "other"])
def test_damaged_files_are_refused(part: int, damage: str, files: tuple[bytes, bytes]) -> None:
    whole = files[part]
    changed = {"empty": b"", "cut": whole[: len(whole) // 2], "other": b"\x08" * 5}[damage]
    contents = (changed, files[1]) if part == 0 else (files[0], changed)
    with pytest.raises(BundleError, match=r"^m\.xml cannot be loaded by OpenVINO: .+") as caught:
        OpenVINOSession(*contents, "m.xml")
    assert "\n" not in str(caught.value)


def test_without_the_package_the_error_says_what_to_install(
    files: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(BundleError, match="needs openvino, which is not installed; pip install"):
        OpenVINOSession(*files, "m.xml")
