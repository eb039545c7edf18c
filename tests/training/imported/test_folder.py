"""A model has a name, and what was not fetched is told from what is damaged."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.imported.folder import (
    ModelFolder,
    check_files,
    model_name,
    read_arrays,
    read_json,
)
from ranklet.training.imported.tokenizer import plain_tokenizer
from ranklet.workflows.imported import ranker_name

COMMIT = "0123abcd" * 5
POINTER = (
    "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 90868376\n"
)
NOT_FETCHED = {
    POINTER: "is a pointer of git-lfs .* run `git lfs pull`",
    "": "is empty; fetch it again",
    "<!DOCTYPE html>\n<html><body>Sign in": "is a web page and not the file itself",
    "\n<html>": "is a web page and not the file itself",
}


def snapshot(folder: Path) -> Path:
    """Make a snapshot in the hub's cache, and return its folder."""
    path = folder / "models--someone--small-model" / "snapshots" / COMMIT
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    return path


def test_a_snapshot_of_the_hub_is_named_by_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = snapshot(tmp_path)
    (tmp_path / "link").symlink_to(path)
    monkeypatch.chdir(path)
    spellings = (
        path, f"{path}/", path / ".", path / ".." / COMMIT, tmp_path / "link", ".", f"../{COMMIT}/",
    )  # fmt: skip
    for spelling in spellings:
        assert model_name(spelling) == ranker_name(spelling) == "small-model"
        assert ModelFolder(spelling).name == "small-model"


def test_a_pipe_is_no_file_and_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ModelFolderError, match=r"config\.json' is missing or no file"):
        read_json(tmp_path / "config.json")


def test_models_without_an_organisation_and_other_folders_keep_their_names(tmp_path: Path) -> None:
    assert model_name(tmp_path / "models--gpt2" / "snapshots" / COMMIT) == "gpt2"
    assert model_name(tmp_path / "snapshots" / COMMIT) == COMMIT
    assert model_name(tmp_path / "a" / ".." / "models--b--c") == "models--b--c"


@pytest.mark.parametrize("content", NOT_FETCHED)
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("model.safetensors", check_files),
        ("config.json", lambda folder: read_json(folder / "config.json")),
        ("tokenizer.json", plain_tokenizer),
    ],
)
def test_a_file_that_was_not_fetched_says_so(
    content: str, name: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ModelFolderError, match=f"{name}' {NOT_FETCHED[content]}"):
        read(tmp_path)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    save_file({"a": np.ones(2, np.float32)}, tmp_path / "model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": shards}))
    with pytest.raises(ModelFolderError, match=r"has no model-00002-of-00002\.safetensors"):
        check_files(tmp_path)
    save_file({"b": np.ones(2, np.float32)}, tmp_path / "model-00002-of-00002.safetensors")
    check_files(tmp_path)


def test_an_interrupted_download_is_named(tmp_path: Path) -> None:
    path = snapshot(tmp_path)
    blobs = path.parent.parent / "blobs"
    blobs.mkdir()
    (blobs / "abc.incomplete").write_bytes(os.urandom(9))
    with pytest.raises(ModelFolderError, match=r"its download was interrupted .'abc\.incomplete"):
        check_files(path)


@pytest.mark.parametrize(
    "kind", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"]
)
def test_arrays_are_read_as_safetensors_reads_them(kind: str, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    values = torch.tensor([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]).to(getattr(torch, kind))
    path = tmp_path / "model.safetensors"
    save_file({"a": values, "empty": values[:0]}, path, metadata={"format": "pt"})
    found = read_arrays(tmp_path)
    wanted = values.float() if values.is_floating_point() else values.long()
    np.testing.assert_array_equal(found["a"], wanted.numpy())
    assert found["a"].dtype == wanted.numpy().dtype
    assert found["empty"].shape == (0, 3)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 8,
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"{]",
        *(
            len(header).to_bytes(8, "little") + header + bytes(8)
            for header in (
                b'{"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}',
                b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [-4, 4]}}',
                b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}',
                b'{"a": {"dtype": "F32", "shape": [-2], "data_offsets": [8, 0]}}',
                b'{"a": []}',
            )
        ),
    ],
)
def test_damaged_weights_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelFolderError, match="is damaged or truncated"):
        read_arrays(tmp_path)


def test_weights_of_a_type_that_is_not_read_are_not_called_damaged(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    values = torch.zeros(2).to(torch.float8_e4m3fn)
    save_file({"a": values}, tmp_path / "model.safetensors")
    with pytest.raises(ModelFolderError, match=r"^\S+ has weights of the type F8_E4M3, which"):
        check_files(tmp_path)


def test_an_adapter_is_named_whether_or_not_there_is_a_config(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelFolderError, match="is an adapter of another model"):
        ModelFolder(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelFolderError, match="is an adapter of another model"):
        ModelFolder(tmp_path)
