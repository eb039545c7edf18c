"""Static embeddings of sentence-transformers and model2vec become a table of vectors by token."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.models import TEXTS, sentence_transformers, tokenizer

from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.training.imported.importing import read_model
from ranklet.training.imported.original import compare

DIMENSION = 16
MORE = (*TEXTS, "☃東京 cats", "", "☃")  # an unknown word, no token at all, only an unknown word


def vectors(rows: int) -> np.ndarray[Any, Any]:
    """Return random vectors of tokens."""
    return np.random.default_rng(0).normal(size=(rows, DIMENSION)).astype(np.float32)


def model2vec_folder(folder: Path, **arrays: np.ndarray[Any, Any]) -> Path:
    """Save static embeddings as model2vec does."""
    pieces = tokenizer()
    folder.mkdir(parents=True)
    pieces.backend_tokenizer.save(str(folder / "tokenizer.json"))
    save_file({"embeddings": vectors(len(pieces)), **arrays}, folder / "model.safetensors")
    config = {
        "model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True,
        "hidden_dim": DIMENSION, "seq_length": 1_000_000,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def static_folder(folder: Path, *, normalise: bool = False, **model: Any) -> Path:
    """Save static embeddings as sentence-transformers does."""
    library = sentence_transformers()
    modules = library.sentence_transformer.modules
    pieces = tokenizer()
    parts = [modules.StaticEmbedding(pieces, embedding_weights=vectors(len(pieces)))]
    parts += [modules.Normalize()] if normalise else []
    library.SentenceTransformer(modules=parts, device="cpu", **model).save(str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_a_table_returns_the_librarys_vectors(
    normalise: bool, similarity: str, tmp_path: Path
) -> None:
    folder = static_folder(
        tmp_path / "model", normalise=normalise, similarity_fn_name=similarity,
        prompts={"query": "find ", "document": "the "},
    )  # fmt: skip
    checkpoint = read_model(folder)
    settings = checkpoint.settings
    assert (settings.encoder, settings.dimension) == ("table", DIMENSION)
    assert settings.similarity == ("cosine" if normalise else similarity)
    assert (settings.query_prompt, settings.document_prompt) == ("find ", "the ")
    original = compare(folder, checkpoint, MORE)
    assert original.difference < 1e-6


@pytest.mark.slow
def test_a_folder_of_older_versions_is_read(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "model")
    place = folder / "0_StaticEmbedding"
    place.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).rename(place / name)
    module = {"idx": 0, "name": "0", "path": "0_StaticEmbedding"}
    kind = "sentence_transformers.models.StaticEmbedding"
    (folder / "modules.json").write_text(json.dumps([{**module, "type": kind}]))
    compare(folder, read_model(folder), TEXTS)


@pytest.mark.slow
def test_texts_are_cut_where_the_tokenizer_cuts_them(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "model")
    path = folder / "tokenizer.json"
    cut = {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    path.write_text(json.dumps({**json.loads(path.read_text()), "truncation": cut}))
    checkpoint = read_model(folder)
    assert checkpoint.settings.max_document_tokens == 6
    compare(folder, checkpoint, TEXTS)


def test_model2vec_is_read_as_it_ranks(tmp_path: Path) -> None:
    folder = model2vec_folder(tmp_path / "model")
    checkpoint = read_model(folder)
    assert checkpoint.kind == "dense"
    assert (checkpoint.settings.encoder, checkpoint.settings.similarity) == ("table", "cosine")
    assert checkpoint.settings.max_document_tokens == 512
    pieces = checkpoint.need_tokenizer()
    # It leaves unknown words out, which is what zeros do under the cosine.
    assert not checkpoint.arrays["table"][pieces.token_to_id("[UNK]")].any()
    assert checkpoint.arrays["table"][pieces.token_to_id("[CLS]")].any()
    assert read_model(checkpoint.save(tmp_path / "saved")).settings == checkpoint.settings


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int8", "float16"])
def test_a_table_of_model2vec_in_fewer_bits_is_read(kind: str, tmp_path: Path) -> None:
    sentence_transformers()
    table = (40 * vectors(len(tokenizer()))).clip(-127, 127).astype(kind)
    folder = model2vec_folder(tmp_path / "model", embeddings=table)
    checkpoint = read_model(folder)
    compare(folder, checkpoint, TEXTS)
    cls = checkpoint.need_tokenizer().token_to_id("[CLS]")
    np.testing.assert_array_equal(checkpoint.arrays["table"][cls], table[cls])


@pytest.mark.slow
def test_model2vecs_factors_and_shared_vectors_are_applied(tmp_path: Path) -> None:
    sentence_transformers()
    rows = len(tokenizer())
    generator = np.random.default_rng(1)
    folder = model2vec_folder(
        tmp_path / "model",
        embeddings=vectors(20).astype(np.float16),
        mapping=generator.integers(0, 20, rows),
        weights=generator.uniform(0.1, 2, rows),
    )
    checkpoint = read_model(folder)
    assert len(checkpoint.arrays["table"]) == rows
    compare(folder, checkpoint, TEXTS)  # no unknown words, which it would count


@pytest.mark.parametrize("chosen", [None, 5])
def test_the_dimension_can_be_cut(chosen: int | None, tmp_path: Path) -> None:
    folder = model2vec_folder(tmp_path / "model")
    whole, checkpoint = read_model(folder), read_model(folder, dimension=chosen)
    assert checkpoint.settings.dimension == (chosen or DIMENSION)
    np.testing.assert_array_equal(
        checkpoint.arrays["table"], whole.arrays["table"][:, : chosen or DIMENSION]
    )
    with pytest.raises(InputError, match="dimension is 17; this model allows 1 to 16"):
        read_model(folder, dimension=17)


FAULTS: dict[str, tuple[dict[str, np.ndarray[Any, Any]], str]] = {
    "too few vectors": ({"embeddings": vectors(3)}, r"has 3 vectors for the \d+ tokens"),
    "one axis": ({"embeddings": vectors(3)[0]}, "no array embedding.weight or embeddings"),
    "a vector past the end": (
        {"embeddings": vectors(3), "mapping": np.full(7, 3)},
        "weights in .* do not fit: index 3 is out of bounds",
    ),
    "too few factors": ({"weights": np.ones(3)}, "weights in .* do not fit: cannot reshape"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_arrays_that_do_not_fit_are_refused_in_one_line(fault: str, tmp_path: Path) -> None:
    arrays, message = FAULTS[fault]
    folder = model2vec_folder(tmp_path / "model", **arrays)
    with pytest.raises(ModelFolderError, match=message) as caught:
        read_model(folder)
    assert "\n" not in str(caught.value)


def test_other_modules_are_refused(tmp_path: Path) -> None:
    folder = model2vec_folder(tmp_path / "model")
    modules = [
        {"type": "sentence_transformers.models.StaticEmbedding", "path": ""},
        {"type": "sentence_transformers.models.Dense", "path": "1_Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelFolderError, match="has the modules StaticEmbedding, Dense"):
        read_model(folder)
