"""The state of an interrupted training, next to its output, and nothing else."""

from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Collection, Document, write_collection
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.training.kept_state import compute_digest, remove_state, state_folder


def test_a_state_is_removed_when_all_is_done(tmp_path: Path) -> None:
    state = state_folder(tmp_path / "model")
    assert state == tmp_path / "model.run"
    state.mkdir()
    names = ["state.pt", "mined.3.npy", "oracle.0f.f16", "oracle.0f.json", "teacher.npz"]
    for name in [*names, ".state.pt.0a1b2c3d.partial"]:
        (state / name).touch()
    assert state_folder(tmp_path / "model") == state
    remove_state(state)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    state = tmp_path / "model.run"
    state.mkdir()
    (state / "results.csv").touch()
    with pytest.raises(InputError, match=r"holds other files: 'results\.csv'"):
        state_folder(tmp_path / "model")
    remove_state(state)
    assert (state / "results.csv").exists()


def test_a_state_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.run").mkdir()
    (tmp_path / "model.run").chmod(0o777)
    with pytest.raises(BundleError, match="others can write to it"):
        state_folder(tmp_path / "model")


def test_other_queries_judgements_or_documents_have_another_digest(tmp_path: Path) -> None:
    def collection(text: str) -> Collection:
        place = tmp_path / "collection"
        return write_collection(place, [Document("a", "", text)], {}, overwrite=True)

    query = JudgedQuery("q", "dough", {"a": 1})
    found = compute_digest(collection("rise"), [query], [])
    assert found == compute_digest(collection("rise"), [query], [])
    others = {
        compute_digest(collection("rises"), [query], []),
        compute_digest(collection("rise"), [query._replace(text="doughs")], []),
        compute_digest(collection("rise"), [query._replace(relevant={"a": 2})], []),
        compute_digest(collection("rise"), [], [query]),
    }
    assert len(others | {found}) == 5
