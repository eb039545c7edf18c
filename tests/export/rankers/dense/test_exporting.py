"""A dense encoder's variants are proven, its index is exact or approximate, faults are refused."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.damage import with_settings
from tests.kinds import FP32, VARIANTS, TinyRankers, opened
from tests.models import TEXTS, probes, tokenizer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.export.rankers.dense.exporting import form_reports
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.dense.stored import StoredVectors
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.rankers.dense import Dense, DenseEncoder, DenseSettings
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.dense import training as dense_training

STORED = ("stored float16", "stored int8")  # rows of the report

DIMENSION = 16


@pytest.fixture
def dense(tiny: TinyRankers) -> Checkpoint:
    return tiny.checkpoint("dense")


def test_every_variant_is_proven_and_the_proof_is_in_the_bundle(tiny: TinyRankers) -> None:
    reports = {each.variant: each for each in read_reports(tiny.exported("dense"))["dense"]}
    assert tuple(reports) == (*VARIANTS, *STORED)
    assert reports["fp32"].max_error < 1e-4
    assert reports["fp32"].overlap == 1
    assert reports["fp32"].fused["Attention"] == 2
    for report in reports.values():
        assert report.batch_error < 1e-5  # the comparison's own rounding
        assert report.pairs > 500
    assert [reports[form].bytes for form in STORED] == [64, 36]  # of a document of 32 numbers
    assert reports["stored float16"].max_error < reports["stored int8"].max_error < 0.1
    assert max(reports["int8"].bytes, reports["fp16"].bytes) < reports["fp32"].bytes


def test_onnx_gives_pytorchs_vectors(tiny: TinyRankers, dense: Checkpoint) -> None:
    import torch

    ranker = open_ranker(BundleFiles(tiny.exported("dense"), device="cpu"), "dense")
    assert isinstance(ranker, Dense)
    text = "the old river is old here"
    encoder = ranker.encoder.encoder
    assert isinstance(encoder, Encoder)
    ids, _ = encoder.token_ids([text], 16)
    tokens = torch.tensor(ids)
    with torch.inference_mode():
        ones = torch.ones_like(tokens)
        expected = dense_training.load(dense)(tokens, ones, ones)[0].numpy()
    vector = ranker.encoder.encode_documents([text]).vectors[0]
    cosine = vector @ expected / np.linalg.norm(vector) / np.linalg.norm(expected)
    assert cosine > 0.98  # int8 is what a processor runs


@pytest.mark.slow
@pytest.mark.parametrize(("search", "file"), [("hnsw", "hnsw.bin"), ("binary", "codes.npy")])
def test_an_index_is_built_where_the_settings_say_so(
    search: str, file: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    dense = tiny.checkpoint("dense", search=search)
    target = tiny.build(tmp_path, {"dense": dense})
    bundle = load(target, device="cpu")
    assert bundle.manifest.rankers["dense"].measured["recall"] >= 0.98
    assert bundle.manifest.files[f"rankers/dense/{file}"].bytes > 0
    assert len(bundle.rank("quiet stream", k=3)) == 3
    assert "ranker dense" in list(verify(target))
    files = BundleFiles(target, device="cpu")
    ranker = open_ranker(files, "dense")
    assert isinstance(ranker, Dense)
    query = QueryContext("quiet stream", files.analyzer.begin())
    allowed = np.arange(48) % 7 == 3
    found = ranker.retrieve(query, 3, allowed)
    products = ranker.vectors.products(ranker.encode_query(query))
    products = np.where(allowed, products, -np.inf)
    assert allowed[found.numbers].all()
    np.testing.assert_allclose(found.scores, np.sort(products)[:-4:-1], atol=1e-5)


@pytest.mark.parametrize("form", ["float16", "int8"])
@pytest.mark.parametrize("search", ["exact", "binary", "hnsw"])
def test_vectors_are_stored_and_searched_in_the_form_of_the_settings(
    search: str, form: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    if search == "hnsw":
        pytest.importorskip("hnswlib")
    rankers = Path(shutil.copytree(tiny.exported("dense"), tmp_path / "rankers"))
    with_settings(rankers, "dense", stored=form, search=search)
    path = Path(index_bundle(rankers, tiny.data.collection, tmp_path / "b"))
    assert "ranker dense" in list(verify(path))
    ranker, whole = opened(path, "dense", Dense), opened(tiny.indexed("dense"), "dense", Dense)
    again = StoredVectors.of(whole.vectors.values, form)
    np.testing.assert_array_equal(ranker.vectors.values, again.values)
    query = QueryContext("quiet stream", BundleFiles(path).analyzer.begin())
    stored = again.floats(slice(None)) @ ranker.encode_query(query)
    for allowed in (None, np.arange(48) % 7 == 3):
        found = ranker.retrieve(query, 5, allowed)
        wanted = stored if allowed is None else np.where(allowed, stored, -np.inf)
        assert found.numbers.tolist() == np.argsort(-wanted, kind="stable")[:5].tolist()
        np.testing.assert_allclose(found.scores, stored[found.numbers], rtol=1e-5)
        candidates = StoredCandidates(ranker._bundle.need_documents(), found.numbers)
        np.testing.assert_allclose(ranker.score(query, candidates).values, found.scores, rtol=1e-5)


def test_where_no_variant_holds_nothing_is_written(dense: Checkpoint, tmp_path: Path) -> None:
    tight = ExportOptions(variants=("fp32",), max_mb=1e-6)
    with pytest.raises(BuildError, match="no variant is within"):
        export_bundle({"dense": dense}, tmp_path / "b", tight)
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_not_finite_are_refused(dense: Checkpoint, tmp_path: Path) -> None:
    name, values = next(iter(dense.weights.items()))
    broken = replace(dense, weights={**dense.weights, name: np.full_like(values, np.nan)})
    with pytest.raises(InputError, match="finite"):
        export_bundle({"dense": broken}, tmp_path / "b", FP32)


def test_a_tokenizer_of_another_model_is_refused(dense: Checkpoint, tmp_path: Path) -> None:
    words = {word: at for at, word in enumerate(["[PAD]", "[UNK]", *map(str, range(5000))])}
    other = Tokenizer(WordLevel(words))
    with pytest.raises(BuildError, match=r"5,002 tokens, .* not the model's own"):
        export_bundle({"dense": replace(dense, tokenizer=other)}, tmp_path / "b", FP32)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def static() -> Checkpoint:
    """Static embeddings with random vectors."""
    pieces = tokenizer().backend_tokenizer
    pieces.no_truncation()
    pieces.no_padding()
    table = np.random.default_rng(0).normal(size=(pieces.get_vocab_size(), DIMENSION))
    settings = DenseSettings(512, 512, DIMENSION, encoder="table")
    arrays = {"table": table.astype(np.float32)}
    return Checkpoint("dense", settings, arrays=arrays, tokenizer=pieces, probes=probes())


def exported(checkpoint: Checkpoint, folder: Path, *variants: str) -> BundleFiles:
    """Return a bundle with these variants."""
    options = ExportOptions(variants=variants)
    return BundleFiles(Path(export_bundle({"static": checkpoint}, folder / "bundle", options)))


@pytest.mark.parametrize(
    ("variants", "dtype"),
    [(("fp32",), "float32"), (("fp16",), "float16"), (("fp32", "int8"), "int8")],
)
def test_the_smallest_table_is_written_and_all_are_proven(
    variants: tuple[str, ...], dtype: str, static: Checkpoint, tmp_path: Path
) -> None:
    bundle = exported(static, tmp_path, *variants)
    encoder = DenseEncoder.open(bundle, "static")
    assert bundle.array("rankers/static/table.npy", dtype, (None, DIMENSION)).dtype == dtype
    *reports, half, small = read_reports(tmp_path / "bundle")["static"]
    assert [half.variant, small.variant] == ["stored float16", "stored int8"]
    assert {report.variant for report in reports} == set(variants)
    assert all(report.kendall > 0.97 and report.overlap > 0.9 for report in reports)
    assert [report.bytes for report in reports] == sorted(report.bytes for report in reports)
    exact = exported(static, tmp_path / "exact", "fp32")
    expected = DenseEncoder.open(exact, "static").encode_documents(list(TEXTS)).vectors
    vectors = encoder.encode_documents(list(TEXTS)).vectors
    np.testing.assert_allclose(vectors, expected, atol={"int8": 0.01}.get(dtype, 1e-3))
    assert encoder.encoder.provider == ""


def test_more_bits_are_taken_where_fewer_change_the_order(
    static: Checkpoint, tmp_path: Path
) -> None:
    # One large number per row leaves no levels of int8 to the others, which tell the texts apart.
    spread = static.arrays["table"].copy()
    spread[:, 0] = 300
    bundle = exported(replace(static, arrays={"table": spread}), tmp_path, "int8")
    reports = read_reports(tmp_path / "bundle")["static"]
    assert [report.variant for report in reports][:2] == ["int8", "fp16"]
    assert reports[0].kendall < 0.97
    assert "rankers/static/table_scales.npy" not in bundle.manifest.files


def test_where_no_table_is_small_enough_nothing_is_written(
    static: Checkpoint, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match="no table is within its tolerance"):
        export_bundle({"static": static}, tmp_path / "bundle", ExportOptions(max_mb=1e-6))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_collection_is_searched_without_onnxruntime_and_pytorch(
    static: Checkpoint, tiny_collection: Collection, tmp_path: Path
) -> None:
    path = tmp_path / "indexed"
    exported(static, tmp_path, "int8")
    index_bundle(tmp_path / "bundle", tiny_collection, path)
    assert "ranker static" in list(verify(path))
    (best, *_) = load(path).rank("the old river", k=3)
    code = (
        "import sys\nfrom ranklet.runtime import load\n"
        f"bundle = load({str(path)!r})\n"
        "print(bundle.rank('the old river', k=3)[0].id)\n"
        f"print(len(bundle.rank('a', documents={list(TEXTS)!r})))\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    name, texts, modules = done.stdout.splitlines()
    assert (name, int(texts)) == (best.id, len(TEXTS))
    assert not {"onnxruntime", "onnx", "torch", "transformers"} & set(modules.split())
    assert "tokenizers" in modules.split()


def test_every_form_but_32_bits_is_compared_with_these() -> None:
    rng = np.random.default_rng(0)
    queries, documents = (rng.normal(size=(n, 64)).astype(np.float32) for n in (7, 40))
    relevant = [[int(each)] for each in (queries @ documents.T).argmax(1)]
    half, small = form_reports(queries, documents, relevant)
    assert [half.variant, small.variant] == ["stored float16", "stored int8"]
    assert [half.bytes, small.bytes] == [128, 68]  # of a document, the factor of int8 included
    assert half.pairs == small.pairs == 280
    assert 0 < half.max_error < small.max_error < 0.05
    assert half.torch_ndcg == half.ndcg == 1
    assert min(half.overlap, small.overlap) > 0.9
