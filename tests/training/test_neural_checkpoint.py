import json
from pathlib import Path

import numpy as np
import pytest

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.repbert import RepBERTSettings
from ranklet.training.checkpoint import Checkpoint, check_finite, read_checkpoint
from ranklet.training.data.probes import Probes


def neural(**weights: list[float]) -> Checkpoint:
    return Checkpoint(
        "repbert",
        RepBERTSettings(dimension=3),
        network={"model_type": "bert"},
        weights={name: np.array(values, np.float32) for name, values in weights.items()},
        probes=Probes(("q",), ("d", "e"), ((1,),)),
    )


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    saved = neural(a=[1, 2], b=[3])
    back = read_checkpoint(saved.save(tmp_path / "c"))
    assert (back.kind, back.settings) == ("repbert", saved.settings)
    assert back.network == {"model_type": "bert"}
    assert {name: each.tolist() for name, each in back.weights.items()} == {"a": [1, 2], "b": [3]}
    assert back.probes == saved.probes


def test_ours_stands_beside_hugging_faces_files(tmp_path: Path) -> None:
    neural(a=[1]).save(tmp_path / "c")
    names = {path.name for path in (tmp_path / "c").iterdir()}
    assert names == {"ranklet.json", "config.json", "model.safetensors", "probes.json"}
    assert json.loads((tmp_path / "c" / "ranklet.json").read_text())["kind"] == "repbert"


def test_a_lexical_checkpoint_has_no_network(tmp_path: Path) -> None:
    Checkpoint("bm25", BM25Settings(k1=1.5)).save(tmp_path / "c")
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["ranklet.json"]
    assert read_checkpoint(tmp_path / "c").settings.k1 == 1.5


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_neither_saved_nor_passed(tmp_path: Path, bad: float) -> None:
    broken = neural(fine=[0], layer=[1, bad])
    with pytest.raises(InputError, match="1 of the 2 numbers in 'layer'"):
        broken.save(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="the exported model: 1 of the 2"):
        check_finite(broken.weights, "the exported model")


def test_an_earlier_checkpoint_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    neural(a=[1]).save(tmp_path / "c")
    neural(b=[2]).save(tmp_path / "c")
    assert set(read_checkpoint(tmp_path / "c").weights) == {"b"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"no checkpoint \(it holds no ranklet\.json\)"):
        neural(a=[1]).save(tmp_path / "mine")


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    neural(a=[1]).save(tmp_path / "c")
    (tmp_path / "c" / "model.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(InputError, match=r"weights .* cannot be read"):
        read_checkpoint(tmp_path / "c")
    (tmp_path / "c" / "ranklet.json").write_text('{"kind": "nonsense", "settings": {}}')
    with pytest.raises(InputError, match="nonsense"):
        read_checkpoint(tmp_path / "c")
    with pytest.raises(InputError, match="ranklet train"):
        read_checkpoint(tmp_path)


def test_the_nearest_probes_hold_what_is_to_be_found() -> None:
    probes = Probes(("a", "b", "c"), tuple("stuvwxyz"), ((7,), (2, 7), (5,)))
    found = probes.nearest(2, 4)
    assert found == Probes(("a", "b"), ("z", "u", "s", "t"), ((0,), (1, 0)))
    assert probes.nearest(2, 1) == Probes(("a", "b"), ("z",), ((0,), (0,)))
    assert probes.nearest(9, 99).queries == probes.queries
