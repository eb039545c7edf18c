"""Vectors and similarities of a bundle are those of the library that the model was made for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.models import TEXTS, probes, sentence_folder, sentence_transformers
from tests.training.rankers.colbert.test_importing import module_folder
from tests.training.rankers.splade.test_importing import sparse_folder

from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.ground.errors import InputError, OutOfTimeError, UnknownRankerError
from ranklet.runtime.rankers import encoding
from ranklet.training.imported.importing import read_model

QUERIES = ["a quick dog", "rivers"]
NEAR: Any = {"atol": 1e-4}


def bundle_of(folder: Path, scratch: Path) -> Bundle:
    options = ExportOptions(variants=("fp32",), probes=probes())
    return load(
        export_bundle({"model": read_model(folder)}, scratch / "b", options).path, device="cpu"
    )


@pytest.mark.slow
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_vectors_of_texts(similarity: str, tmp_path: Path) -> None:
    prompts = {"query": "query: ", "document": "a dog. "}
    folder = sentence_folder(tmp_path / "m", prompts=prompts, similarity_fn_name=similarity)
    theirs = sentence_transformers().SentenceTransformer(str(folder), device="cpu")
    bundle = bundle_of(folder, tmp_path)
    queries, documents = bundle.encode_query(QUERIES), bundle.encode_document(TEXTS)
    expected = theirs.encode_query(QUERIES), theirs.encode_document(list(TEXTS))
    if similarity == "dot":
        np.testing.assert_allclose(queries, expected[0], **NEAR)
        np.testing.assert_allclose(documents, expected[1], **NEAR)
    np.testing.assert_allclose(
        bundle.similarity(queries, documents), theirs.similarity(*expected).numpy(), **NEAR
    )
    np.testing.assert_array_equal(bundle.encode_query(QUERIES[0]), queries[0])
    assert bundle.encode_document([]).shape == (0, 32)


@pytest.mark.slow
def test_terms_and_weights_of_texts(tmp_path: Path) -> None:
    folder = sparse_folder(tmp_path / "m")
    theirs = sentence_transformers().SparseEncoder(str(folder), device="cpu")
    bundle = bundle_of(folder, tmp_path)
    queries, documents = bundle.encode_query(QUERIES), bundle.encode_document(TEXTS)
    expected = [
        theirs.encode_query(QUERIES, convert_to_sparse_tensor=False).numpy(),
        theirs.encode_document(list(TEXTS), convert_to_sparse_tensor=False).numpy(),
    ]
    for rows, wanted in zip((queries, documents), expected, strict=True):
        for row, whole in zip(rows, wanted, strict=True):
            found = np.zeros_like(whole)
            found[row.terms] = row.weights
            np.testing.assert_allclose(found, whole, **NEAR)
    np.testing.assert_allclose(
        bundle.similarity(queries, documents), expected[0] @ expected[1].T, rtol=1e-4
    )


@pytest.mark.slow
def test_vectors_of_tokens(tmp_path: Path) -> None:
    folder = module_folder(tmp_path / "m")
    theirs = sentence_transformers().MultiVectorEncoder(str(folder), device="cpu")
    bundle = bundle_of(folder, tmp_path)
    queries, documents = bundle.encode_query(QUERIES), bundle.encode_document(TEXTS)
    expected: list[Any] = [
        theirs.encode_query(QUERIES, batch_size=1),
        theirs.encode_document(list(TEXTS), batch_size=1),
    ]
    for rows, wanted in zip((queries, documents), expected, strict=True):
        for row, other in zip(rows, wanted, strict=True):
            np.testing.assert_allclose(row, np.asarray(other), **NEAR)
    np.testing.assert_allclose(
        bundle.similarity(queries, documents), np.asarray(theirs.similarity(*expected)), rtol=1e-4
    )


@pytest.mark.slow
def test_the_vectors_of_one_text_are_compared_as_those_of_a_list(tiny: TinyRankers) -> None:
    for kind in ("dense", "epic", "colbert"):
        bundle = load(tiny.exported(kind), device="cpu")
        query, documents = "a river", bundle.encode_document(["old river", "water"])
        wanted = bundle.similarity(bundle.encode_query([query]), documents)
        found = bundle.similarity(bundle.encode_query(query), documents)
        np.testing.assert_array_equal(found, wanted)
        gathered = [bundle.encode_document(each) for each in ("old river", "water")]
        found = bundle.similarity(bundle.encode_query([query]), gathered)
        np.testing.assert_array_equal(found, wanted)
        assert bundle.similarity(documents, []).shape == (2, 0)
        assert bundle.similarity([], documents).shape == (0, 2)


def test_many_texts_are_encoded_as_each_alone(
    tiny: TinyRankers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "AT_A_TIME", 2)
    for kind in ("dense", "epic", "colbert", "srm"):
        bundle = load(tiny.exported(kind), device="cpu")
        encoder = next(each for each in bundle.manifest.rankers if each != "bm25")
        texts = ["old river", "water " * 40, "", "a quiet stream", "old river"]
        found = encoding.encode(bundle.files, texts, "document")
        assert found.cut == [1]
        assert found.ranker == encoder
        for text, vector in zip(texts, found.vectors, strict=True):
            alone = bundle.encode_document(text)
            for one, other in zip(
                *((each if isinstance(each, SparseQuery) else [each]) for each in (alone, vector)),
                strict=True,
            ):
                np.testing.assert_array_equal(one, other)
        with pytest.raises(OutOfTimeError, match="after 2 of 5 texts"):
            encoding.encode(bundle.files, texts, "query", deadline=Deadline(0))


def test_what_cannot_be_encoded_or_compared_is_said(tiny: TinyRankers, bundle: Bundle) -> None:
    with pytest.raises(InputError, match="no ranker of this bundle encodes"):
        bundle.encode_query("water")
    with pytest.raises(InputError, match="'bm25' encodes no texts; none does"):
        bundle.encode_query("water", ranker="bm25")
    with pytest.raises(UnknownRankerError, match="nothing"):
        bundle.encode_query("water", ranker="nothing")
    own = load(tiny.exported("dense"), device="cpu")
    with pytest.raises(InputError, match=r"texts\[1\] is a int"):
        own.encode_query(["water", 1])  # type: ignore[list-item]
    for wrong in (None, 1, b"water", {"water": 1}):
        with pytest.raises(InputError, match="texts must be a list"):
            own.encode_document(wrong)  # type: ignore[arg-type]
    sparse = load(tiny.exported("epic"), device="cpu").encode_query(["water"])
    other = np.ones((1, 3), np.float32)  # of another dimension
    for pair in (
        (own.encode_query(["water"]), sparse),
        (sparse, [np.ones((1, 4), np.float32)]),
        (own.encode_query(["water"]), other),
        ([1.0, 2.0], [3.0]),
        (None, other),
    ):
        with pytest.raises(InputError, match="by the same ranker"):
            own.similarity(*pair)
