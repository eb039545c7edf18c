import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ranklet.corpus.collections.probes import Probes
from ranklet.runtime.bundles.manifest import FORMAT_VERSION
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.dense import DenseSettings
from ranklet.training.checkpoint import Checkpoint, check_finite, read_checkpoint

if TYPE_CHECKING:
    from tests.conftest import Built

BM25 = Checkpoint("bm25", BM25Settings("words", 1.5, 0.25), training={"best": 0.5})


@pytest.mark.parametrize("name", ["bm25", "bm25_pieces", "model1", "model1_pieces"])
def test_what_was_saved_reads_back_equal(
    checkpoints: dict[str, Checkpoint], tmp_path: Path, name: str
) -> None:
    # It is saved here, because another process may have trained and saved the shared one.
    trained = checkpoints[name]
    read = read_checkpoint(trained.save(tmp_path / name))
    assert (read.kind, read.settings, read.tokens) == (
        trained.kind,
        trained.settings,
        trained.tokens,
    )
    assert set(read.arrays) == set(trained.arrays)
    for key, values in trained.arrays.items():
        assert read.arrays[key].dtype == values.dtype
        np.testing.assert_array_equal(read.arrays[key], values)
    assert read.training == json.loads(json.dumps(trained.training))
    assert (read.tokenizer is None) == (trained.tokenizer is None)
    if read.tokenizer is not None and trained.tokenizer is not None:
        assert read.tokenizer.to_str() == trained.tokenizer.to_str()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    path = BM25.save(tmp_path / "c")
    (path / "runs").mkdir()
    (path / "runs" / "notes.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"would be lost: 'runs/notes\.txt'"):
        BM25.save(path)
    (path / "runs" / "notes.txt").unlink()
    (path / ".DS_Store").touch()  # of a file manager
    BM25.save(path)
    assert not (path / "runs").exists()
    (path / "ranklet.json").write_text('{"name": "an app"}')
    with pytest.raises(InputError, match="is no checkpoint"):
        BM25.save(path)


def test_what_is_no_checkpoint_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    for path in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(InputError, match="exists and is no checkpoint"):
            BM25.save(path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("make", [lambda path: path / "nothing", lambda path: path])
def test_no_checkpoint_is_refused(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with pytest.raises(InputError, match=r"no checkpoint at .* that `ranklet train` wrote"):
        read_checkpoint(make(tmp_path))


def config(change: str) -> Callable[[Path], object]:
    return lambda path: (path / "ranklet.json").write_text(change)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no JSON": config("{"),
    "nested deep": config("[" * 100_000),
    "a list": config("[]"),
    "no kind": config('{"settings": {}}'),
    "an unknown kind": config('{"kind": "os", "settings": {}}'),
    "no settings": config('{"kind": "bm25"}'),
    "settings that are no object": config('{"kind": "bm25", "settings": [1]}'),
    "an unknown setting": config('{"kind": "bm25", "settings": {"k9": 1}}'),
    "a wrong setting": config('{"kind": "bm25", "settings": {"k1": "x"}}'),
    "training that is no object": config('{"kind": "bm25", "settings": {}, "training": 7}'),
    "no UTF-8": lambda path: (path / "ranklet.json").write_bytes(b"\xff"),
    "an empty array": lambda path: (path / "source.npy").write_bytes(b""),
    "an array cut short": lambda path: (path / "source.npy").write_bytes(
        (path / "source.npy").read_bytes()[:-3]
    ),
    "a pickle": lambda path: np.save(path / "source.npy", np.array([{}]), allow_pickle=True),
    "tokens that are no list": lambda path: (path / "tokens.json").write_text('{"a": 1}'),
    "tokens that are no strings": lambda path: (path / "tokens.json").write_text("[1]"),
    "tokens that are no JSON": lambda path: (path / "tokens.json").write_text("["),
    "a tokenizer that is none": lambda path: (path / "tokenizer.json").write_text("{}"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checkpoint_is_refused(built: "Built", tmp_path: Path, name: str) -> None:
    path = Path(shutil.copytree(built.checkpoints["model1"], tmp_path / "damaged"))
    DAMAGE[name](path)
    with pytest.raises(InputError, match="damaged"):  # the path is named
        read_checkpoint(path)


# -------------------------------------------------------------------------- with a network


def neural(**weights: list[float]) -> Checkpoint:
    return Checkpoint(
        "dense",
        DenseSettings(dimension=3),
        network={"model_type": "bert"},
        weights={name: np.array(values, np.float32) for name, values in weights.items()},
        probes=Probes(("q",), ("d", "e"), ((1,),)),
    )


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    saved = neural(a=[1, 2], b=[3])
    back = read_checkpoint(saved.save(tmp_path / "c"))
    assert (back.kind, back.settings) == ("dense", saved.settings)
    assert back.network == {"model_type": "bert"}
    assert {name: each.tolist() for name, each in back.weights.items()} == {"a": [1, 2], "b": [3]}
    assert back.probes == saved.probes


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_neither_saved_nor_passed(tmp_path: Path, bad: float) -> None:
    broken = neural(fine=[0], layer=[1, bad])
    with pytest.raises(InputError, match="1 of the 2 numbers in 'layer'"):
        broken.save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="the exported model: 1 of the 2"):
        check_finite(broken.weights, "the exported model")


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    neural(a=[1]).save(tmp_path / "c")
    (tmp_path / "c" / "model.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(InputError, match=r"weights .* cannot be read"):
        read_checkpoint(tmp_path / "c")
    (tmp_path / "c" / "ranklet.json").write_text(
        json.dumps({"format_version": FORMAT_VERSION, "kind": "nonsense", "settings": {}})
    )
    with pytest.raises(InputError, match="nonsense"):
        read_checkpoint(tmp_path / "c")
    with pytest.raises(InputError, match="ranklet train"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [({}, "an earlier ranklet, .* train"), ({"format_version": 99}, "a later ranklet, .* upgrade")],
)
def test_a_checkpoint_of_another_version_is_refused(
    tmp_path: Path, change: dict[str, int], message: str
) -> None:
    path = Checkpoint("bm25", BM25Settings()).save(tmp_path / "c") / "ranklet.json"
    described = json.loads(path.read_text())
    assert described.pop("format_version") == FORMAT_VERSION
    path.write_text(json.dumps(described | change))
    with pytest.raises(InputError, match=message):
        read_checkpoint(path.parent)
