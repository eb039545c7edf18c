"""Tokenizers are what transformers makes of a folder, and long texts are cut as there."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.models import LONGEST, tokenizer, transformer_folder

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.imported.original import ReadTransformer, load_original
from ranklet.training.imported.tokenizer import model_tokenizer

POSITIONS = 80  # of the saved networks


def change(path: Path, **values: Any) -> None:
    """Change values of a JSON file."""
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**content, **values}))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Networks with positions in a table, with a padding token before them, and without a table."""
    root = tmp_path_factory.mktemp("tokenizer")
    return {name: transformer_folder(root / name, name) for name in ("bert", "roberta", "nomic")}


@pytest.mark.parametrize("name", ["tokenizer_config.json", "tokenizer.json"])
def test_texts_that_lose_their_begin_are_refused(name: str, tmp_path: Path) -> None:
    tokenizer().save_pretrained(tmp_path)
    cut = {"direction": "Left", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    changes = {"tokenizer_config.json": {"truncation_side": "left"}}.get(name, {"truncation": cut})
    change(tmp_path / name, **changes)
    with pytest.raises(ModelFolderError, match=r"cuts long texts at their begin .truncation_side"):
        model_tokenizer(tmp_path)


def test_truncation_and_padding_are_left_out(tmp_path: Path) -> None:
    tokenizer().save_pretrained(tmp_path)
    change(tmp_path / "tokenizer_config.json", padding_side="left", model_max_length=7)
    assert (
        len(model_tokenizer(tmp_path).encode("a dog " * 40).ids) > 40
    )  # ranklet itself cuts texts


def test_a_tokenizer_without_a_fast_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "<unk>": 1, "<pad>": 2}))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "CTRLTokenizer"})
    )
    (tmp_path / "merges.txt").write_text("#version\n")
    with pytest.raises(ModelFolderError, match=r"has no fast version|cannot be loaded"):
        model_tokenizer(tmp_path)


# The network, max_seq_length, the tokenizer's limit, and how much is read of a text.
LIMITS = [
    ("bert", None, None, POSITIONS),
    ("bert", None, 11, 11),
    ("bert", 30, 11, 30),  # sentence-transformers replaces the tokenizer's limit
    ("bert", 500, None, POSITIONS),
    ("roberta", 500, None, POSITIONS - 2),
    ("nomic", None, None, POSITIONS),
    ("nomic", 500, None, 500),  # it has no table of positions
]


def read(folder: Path, settings: dict[str, Any]) -> ReadTransformer:
    """Read a transformer as a module that sentence-transformers has saved with settings."""
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    (folder / "modules.json").write_text(json.dumps([module]))
    (folder / "sentence_roberta_config.json").write_text(json.dumps(settings))  # its older name
    return ReadTransformer.of(load_original("SentenceTransformer", folder)[0], folder)


@pytest.mark.parametrize(("name", "longest", "limit", "expected"), LIMITS)
def test_long_texts_are_cut_as_the_library_does(
    name: str, longest: int | None, limit: int | None, expected: int, folders: dict[str, Path]
) -> None:
    folder = folders[name]
    change(folder / "tokenizer_config.json", model_max_length=limit or 10**30)
    assert read(folder, {"max_seq_length": longest}).longest == expected
    assert LONGEST < POSITIONS


def test_other_arguments_of_the_tokenizer_are_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(ModelFolderError, match=r"processing_kwargs .'text': .'max_length': 9"):
        read(folders["bert"], {"processing_kwargs": {"text": {"max_length": 9}}})
    read(folders["bert"], {"processing_kwargs": {"text": {}, "chat_template": {"a": 1}}})
