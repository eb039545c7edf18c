"""A dense encoder in a bundle returns the same vector for a text, whatever stands around it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.damage import graph, replace_file, with_settings
from tests.explanations import check_sums
from tests.kinds import FP32, TinyRankers

from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.rankers.dense import DenseEncoder

DENSE = [{"stage": "retrieve", "ranker": "dense", "k": 5}]


@pytest.mark.slow
def test_documents_encoded_side_by_side_have_the_same_vectors(
    tiny: TinyRankers, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = BundleFiles(tiny.exported("dense"), device="cpu")
    texts = ["the old river", "", "a quiet stream " * 9, "here"] * 4
    expected = DenseEncoder.open(bundle, "dense").encode_documents(texts).vectors
    monkeypatch.setenv("RANKLET_THREADS", "3")
    ranker = DenseEncoder.open(bundle, "dense", many=True)
    assert isinstance(ranker.encoder, Encoder)
    assert ranker.encoder.session.workers == 3
    np.testing.assert_array_equal(ranker.encode_documents(texts).vectors, expected)


@pytest.mark.slow
def test_texts_over_the_limit_are_cut_and_reported(
    tiny: TinyRankers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    short = tiny.checkpoint("dense", max_query_tokens=6, max_document_tokens=8)
    target = tiny.build(tmp_path, {"dense": short})
    documents = tiny.data.collection.documents()
    long = [each for each in documents if len(f"{each.title} {each.text}".split()) > 6]
    bundle = load(target, device="cpu")
    assert bundle.manifest.rankers["dense"].measured["truncated"] == len(long) > 0
    assert f"{len(long)} of 48 documents are longer than the 8 tokens" in caplog.text
    word = long[0].text.split()[0]
    assert bundle.rank(word, pipeline=DENSE).truncated == {}
    assert bundle.rank(" ".join([word] * 9), pipeline=DENSE).truncated == {"dense": 1}
    own = [" ".join([word] * 9), word]
    assert bundle.rank(word, own, pipeline=DENSE).truncated == {"dense": 1}
    # What is cut off does not count.
    scores = bundle.score(word, [" ".join([word] * 6), " ".join([word] * 60)], pipeline=DENSE)
    assert scores[0] == scores[1]


@pytest.fixture
def only_dense(tiny: TinyRankers, tmp_path: Path) -> Path:
    """Return a bundle of a dense encoder in 32 bits, without a collection; a test may change it."""

    def export(folder: Path) -> None:
        export_bundle({"dense": tiny.checkpoint("dense")}, folder / "b", FP32)

    return Path(shutil.copytree(tiny.once("dense.fp32", export) / "b", tmp_path / "b"))


def test_a_tokenizer_of_other_numbers_is_refused(tiny: TinyRankers, only_dense: Path) -> None:
    path = only_dense / "rankers/dense/tokenizer.json"
    number = json.loads(path.read_text())["model"]["vocab"]
    word = next(iter(tiny.data.collection.documents())).text.split()[0].lower()
    other = path.read_text().replace(f'"{word}":{number[word]}', f'"{word}":99999')
    path.write_text(other)
    with pytest.raises(BundleError, match=r"tokenizer\.json"):
        load(only_dense, check="full", device="cpu")
    replace_file(only_dense, "rankers/dense/tokenizer.json", other.encode())
    with pytest.raises(BundleError, match="cannot run"):
        load(only_dense, device="cpu").score(word, [word], pipeline=DENSE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (graph(), "has no output 'sentence_embedding'"),
        (graph(output="sentence_embedding"), "cannot run"),  # it wants x
    ],
)
def test_a_graph_of_something_else_is_refused(
    only_dense: Path, content: bytes, message: str
) -> None:
    replace_file(only_dense, "rankers/dense/model.onnx", content)
    with pytest.raises(BundleError, match=message):
        load(only_dense, device="cpu").score("old", ["river"], pipeline=DENSE)


def test_a_score_is_explained_by_the_words_of_the_document(tiny: TinyRankers) -> None:
    bundle = tiny.bundle("dense")
    for hit in bundle.rank("quiet stream", k=5, pipeline=DENSE, explain=True):
        assert hit.explanation is not None
        check_sums(hit.explanation)
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-6)
        labels = [part.label for part in hit.explanation.parts]
        assert labels[-1] == "[CLS] and [SEP]"  # no difference from the stored vector
        words = {label.split(" (")[0] for label in labels[:-1]}
        text = f"{hit.title}\n{hit.text}".lower()
        assert sum(word in text for word in words) >= len(words) - 2
        marks = [span for span in bundle.highlight(hit) if span.value > 0]
        assert 0 < len(marks) < len(text.split())


@pytest.fixture(params=["float16", "int8"])
def small(request: pytest.FixtureRequest, tiny: TinyRankers, tmp_path: Path) -> Path:
    """Return a bundle whose vectors are stored in fewer bits; a test may change it."""
    rankers = Path(shutil.copytree(tiny.exported("dense"), tmp_path / "rankers"))
    with_settings(rankers, "dense", stored=request.param)
    return Path(index_bundle(rankers, tiny.data.collection, tmp_path / "b"))


@pytest.mark.parametrize("stored", ["float32", "float16", "int8"])
def test_vectors_of_another_form_than_the_settings_say_are_refused(
    stored: str, small: Path
) -> None:
    own = BundleFiles(small).manifest.rankers["dense"].settings["stored"]
    with_settings(small, "dense", stored=stored)
    bundle = load(small, device="cpu")
    if stored == own:
        assert len(bundle.rank("quiet stream", k=5, pipeline=DENSE)) == 5
        return
    with pytest.raises(BundleError, match=r"vectors\.npy holds .*; the bundle format requires"):
        bundle.rank("quiet stream", k=5, pipeline=DENSE)


def test_a_graph_without_states_explains_one_number(
    tiny: TinyRankers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As bundles of earlier versions, and encoders that do not pool by a mean."""
    monkeypatch.setattr(Encoder, "has_states", False)
    bundle = load(tiny.indexed("dense"), device="cpu")
    (hit,) = bundle.rank("quiet stream", k=1, pipeline=DENSE, explain=True)
    assert hit.explanation is not None
    assert hit.explanation.parts == ()
    assert "cannot be divided among words" in hit.explanation.label
    assert hit.explanation.value == pytest.approx(hit.score, abs=1e-6)
