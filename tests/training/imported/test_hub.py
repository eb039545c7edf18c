"""A model is found by its name in the cache of the hub, which needs no network."""

import shutil
from pathlib import Path

import pytest

from ranklet.runtime.errors import InputError
from ranklet.training.imported.folder import model_name
from ranklet.training.imported.hub import cached_model, model_folder

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
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return tmp_path / "hub"


def test_a_name_is_looked_up_in_the_cache(cache: Path) -> None:
    folder = cached(cache, "ada/small")
    assert model_folder("ada/small") == folder
    assert model_name(folder) == "small"
    own = cached(cache, "sentence-transformers/all-Tiny")
    assert model_folder("all-Tiny") == own
    assert cached_model("ada/other") is None


def test_of_several_revisions_main_counts(cache: Path) -> None:
    cached(cache, "ada/two", "a" * 40, main=False)
    assert cached_model("ada/two") is not None
    cached(cache, "ada/two", "b" * 40, main=False)
    assert cached_model("ada/two") is None  # nothing says which one
    assert cached(cache, "ada/two", "c" * 40) == cached_model("ada/two")
    shutil.rmtree(cache / "models--ada--two" / "snapshots" / ("c" * 40))
    assert cached_model("ada/two") is None


@pytest.mark.parametrize(
    ("variable", "below"),
    [("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")],
)
def test_variables_name_the_cache(
    variable: str, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "its"))
    folder = cached(tmp_path / "its" / below, "ada/small")
    assert model_folder("ada/small") == folder


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


def test_what_is_not_there_is_fetched_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    with pytest.raises(InputError, match="fetch it with --download"):
        model_folder("ada/none")
    monkeypatch.setattr(hub, "snapshot_download", no_network)
    with pytest.raises(InputError, match=r"cannot be fetched .* \(no network\)"):
        model_folder("ada/none", download=True)
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(tmp_path))
    assert model_folder("ada/none", download=True) == tmp_path


def test_what_is_there_in_part_is_fetched_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(tmp_path))
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
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fetched(name: str, **_: object) -> str:
        return str(tmp_path) if name == "sentence-transformers/all-Tiny" else no_network()

    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", fetched)
    assert model_folder("all-Tiny", download=True) == tmp_path


def test_a_revision_may_be_named(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    main = cached(cache, "ada/small")
    other = cached(cache, "ada/small", "a" * 40, main=False)
    (cache / "models--ada--small" / "refs" / "v2").write_text("a" * 40)
    for revision, folder in (("v2", other), ("a" * 40, other), ("main", main), (COMMIT, main)):
        assert model_folder(f"ada/small@{revision}") == folder
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(
        hub, "snapshot_download", lambda name, *, revision, **_: str(tmp_path / name / revision)
    )
    with pytest.raises(InputError, match="no folder 'ada/small@v3'"):
        model_folder("ada/small@v3")
    assert model_folder("ada/small@v3", download=True) == tmp_path / "ada" / "small" / "v3"
    assert model_folder("ada/small@../main") == Path("ada/small@../main")
