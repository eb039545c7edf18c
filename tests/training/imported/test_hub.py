"""A model is found by its name in the cache of the hub, which needs no network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.training.imported.folder import model_name
from ranklet.training.imported.hub import model_folder

COMMIT = "0123456789012345678901234567890123456789"


def cached(cache: Path, name: str, commit: str = COMMIT, *, main: bool = True) -> Path:
    """Make what the hub's client keeps of a model."""
    model = cache / f"models--{name.replace('/', '--')}"
    folder = model / "snapshots" / commit
    folder.mkdir(parents=True)
    if main:
        (model / "refs").mkdir(exist_ok=True)
        (model / "refs" / "main").write_text(commit)
    return folder


def no_network(*_: object, **__: object) -> str:
    raise OSError("no network\nat all")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return tmp_path / "hub"


def test_a_name_is_looked_up_in_the_cache(cache: Path) -> None:
    folder = cached(cache, "ada/small")
    assert model_folder("ada/small") == folder
    assert model_name(folder) == "small"
    own = cached(cache, "sentence-transformers/all-Tiny")
    assert model_folder("all-Tiny") == own


def test_a_folder_comes_before_a_name(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(cache, "ada/small")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ada" / "small").mkdir(parents=True)
    assert model_folder("ada/small") == Path("ada/small")


@pytest.mark.parametrize("path", ["/no/such", "./none", "../none", "a/b/c", "a b"])
def test_a_path_that_is_no_name_is_left_to_its_reader(path: str) -> None:
    assert model_folder(path, download=True) == Path(path)


def fetches(monkeypatch: pytest.MonkeyPatch, fetch: Callable[..., object]) -> None:
    """Replace what the hub's client fetches; what it has in its cache it finds itself."""
    own = huggingface_hub.snapshot_download

    def download(name: str, *, local_files_only: bool, **more: Any) -> object:
        if local_files_only:
            return own(name, local_files_only=True, **more)
        return fetch(name, **more)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)


def test_what_is_not_there_is_fetched_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="fetch it with --download"):
        model_folder("ada/none")
    with monkeypatch.context() as patch:
        fetches(patch, no_network)
        with pytest.raises(InputError, match=r"cannot be fetched .* \(no network\)"):
            model_folder("ada/none", download=True)
    fetches(monkeypatch, lambda *_, **__: tmp_path)
    assert model_folder("ada/none", download=True) == tmp_path


def test_what_is_there_in_part_is_fetched_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetches(monkeypatch, lambda *_, **__: tmp_path)
    folder = cached(cache, "ada/part")
    assert model_folder("ada/part", download=True) == tmp_path  # a tokenizer alone, for example
    (folder / "model.safetensors").touch()
    assert model_folder("ada/part", download=True) == folder
    blobs = cache / "models--ada--part" / "blobs"
    blobs.mkdir()
    (blobs / "0123.incomplete").touch()
    assert model_folder("ada/part", download=True) == tmp_path
    assert model_folder("ada/part") == folder


def test_an_owner_that_may_be_left_out_is_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetches(
        monkeypatch, lambda name, **_: tmp_path if name.startswith("sentence-") else no_network()
    )
    assert model_folder("all-Tiny", download=True) == tmp_path


def test_a_revision_may_be_named(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    main = cached(cache, "ada/small")
    other = cached(cache, "ada/small", "a" * 40, main=False)
    (cache / "models--ada--small" / "refs" / "v2").write_text("a" * 40)
    for revision, folder in (("v2", other), ("a" * 40, other), ("main", main), (COMMIT, main)):
        assert model_folder(f"ada/small@{revision}") == folder
    with pytest.raises(InputError, match="no folder 'ada/small@v3'"):
        model_folder("ada/small@v3")
    fetches(monkeypatch, lambda name, *, revision, **_: tmp_path / name / revision)
    assert model_folder("ada/small@v3", download=True) == tmp_path / "ada" / "small" / "v3"
    assert model_folder("ada/small@../main") == Path("ada/small@../main")
