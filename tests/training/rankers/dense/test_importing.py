"""Imported encoders return what sentence-transformers returns, also from an exported bundle."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import (
    ARCHITECTURES,
    LONGEST,
    TEXTS,
    chain_folder,
    probes,
    router_folder,
    sentence_folder,
    sentence_transformers,
    transformer_folder,
)

from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.importing import read_model
from ranklet.training.imported.original import LARGEST, compare
from ranklet.training.imported.sentence_settings import choose_prompts
from ranklet.training.rankers.dense.training import load

POOLINGS = {
    "cls": "cls", "mean": "mean", "max": "max", "lasttoken": "last",
    "weightedmean": "weighted_mean", "mean_sqrt_len_tokens": "mean_sqrt",
}  # fmt: skip
Modules = Callable[[Any], Sequence[Any]]


def served(checkpoint: Checkpoint, folder: Path) -> DenseEncoder:
    """Return the encoder of an exported fp32 bundle."""
    options = ExportOptions(variants=("fp32",), probes=probes())
    path = export_bundle({"dense": checkpoint}, folder / "bundle", options)
    return DenseEncoder.open(BundleFiles(path, device="cpu"), "dense")


def theirs(folder: Path, **options: Any) -> np.ndarray[Any, Any]:
    """Return what sentence-transformers makes of `TEXTS`."""
    model = sentence_transformers().SentenceTransformer(str(folder), device="cpu").float()
    # Each alone, because a convolution reads padding, too.
    vectors: np.ndarray[Any, Any] = model.encode(list(TEXTS), batch_size=1, **options)
    return vectors


def unit(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return vectors of length 1."""
    unit_vectors: np.ndarray[Any, Any] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit_vectors


def check_equal(folder: Path, checkpoint: Checkpoint, scratch: Path) -> bool:
    """Compare a checkpoint and its fp32 bundle with sentence-transformers.

    Return whether vectors are sums over tokens. If so, check that they are.
    """
    compare(folder, checkpoint, TEXTS)
    expected = theirs(folder)[:, : checkpoint.settings.dimension]
    if checkpoint.settings.similarity == "cosine":
        expected = unit(expected)
    encoder = served(checkpoint, scratch)
    vectors = encoder.encode_documents(list(TEXTS)).vectors
    np.testing.assert_allclose(vectors, expected, atol=LARGEST)
    if encoder.divides:
        for text, vector in zip(TEXTS, vectors, strict=True):
            tokens, shares = encoder.document_shares(text)
            assert len(tokens) == len(shares) <= checkpoint.settings.max_document_tokens
            np.testing.assert_allclose(shares.sum(0), vector, atol=1e-6)
    assert np.abs(expected[0] - expected[1]).max() > 0.01  # so that the comparison says something
    return encoder.divides


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_returns_the_librarys_vectors(architecture: str, tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", architecture=architecture)
    checkpoint = read_model(folder)
    assert checkpoint.settings.max_document_tokens == LONGEST  # one of the texts is longer
    assert check_equal(folder, checkpoint, tmp_path)


@pytest.mark.slow
def test_a_failing_trace_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def export(*_: object, **__: object) -> None:
        raise RuntimeError("unordered_map::at\nException raised from somewhere")

    checkpoint = read_model(transformer_folder(tmp_path / "model"))
    monkeypatch.setattr(torch.onnx, "export", export)
    with pytest.raises(ModelFolderError) as caught:
        served(checkpoint, tmp_path)
    assert str(caught.value) == "'dense' cannot be exported: RuntimeError: unordered_map::at"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "pieces", "bytes"])
def test_every_tokenizer_gives_the_librarys_vectors(kind: str, tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", tokenizer_kind=kind)
    compare(folder, read_model(folder), (*TEXTS, "Füße ☃ 東京", ""))


@pytest.mark.slow
@pytest.mark.parametrize("queries", ["network", "leaf", "static"])
def test_queries_and_documents_may_have_an_encoder_each(queries: str, tmp_path: Path) -> None:
    folder = router_folder(tmp_path, queries)
    checkpoint = read_model(folder)
    compare(folder, checkpoint, TEXTS)
    encoder = served(checkpoint, tmp_path)
    model = sentence_transformers().SentenceTransformer(str(folder), device="cpu")
    for made, encode in (
        (encoder.encode_queries, model.encode_query),
        (encoder.encode_documents, model.encode_document),
    ):
        expected = encode(list(TEXTS), batch_size=1)
        np.testing.assert_allclose(made(list(TEXTS)).vectors, expected, atol=LARGEST)
    with pytest.raises(InputError, match="cannot be saved; export it"):
        checkpoint.save(tmp_path / "saved")


@pytest.mark.slow
def test_a_router_whose_routes_are_the_same_is_one_network(tmp_path: Path) -> None:
    folder = router_folder(tmp_path, "same")
    checkpoint = read_model(folder)
    assert checkpoint.queries is None
    compare(folder, checkpoint, TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize("mapped", [False, True])
def test_a_router_may_choose_the_layers_after_a_pooling(mapped: bool, tmp_path: Path) -> None:
    def after(modules: Any) -> list[Any]:
        routes = {name: [modules.Dense(32, 16)] for name in ("query", "document")}
        mappings = {("query", None): "document"} if mapped else None
        return [modules.Pooling(32, "mean"), modules.Router(routes, route_mappings=mappings)]

    folder = chain_folder(tmp_path / "model", after)
    checkpoint = read_model(folder)
    compare(folder, checkpoint, TEXTS)
    assert (checkpoint.queries is None) == mapped


@pytest.mark.slow
def test_a_router_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    folder = router_folder(tmp_path)
    path = folder / "router_config.json"
    good = json.loads(path.read_text())
    for kind in ("evil.Code", "sentence_transformers.base.model.torch"):
        types = dict.fromkeys(good["types"], kind)
        path.write_text(json.dumps({**good, "types": types}))
        with pytest.raises(ModelFolderError, match="needs code of its own"):
            read_model(folder)
    changes: list[Any] = [
        [], {}, {**good, "types": {}}, {**good, "structure": {"query": []}},
        {**good, "types": {f"../{place}": kind for place, kind in good["types"].items()}},
        {**good, "structure": {"query": good["structure"]["query"], "passage": []}},
    ]  # fmt: skip
    for change in changes:
        path.write_text(json.dumps(change))
        with pytest.raises(ModelFolderError) as caught:
            read_model(folder)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling_returns_the_librarys_vectors(pooling: str, tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", pooling, similarity_fn_name="dot")
    checkpoint = read_model(folder)
    assert checkpoint.settings.pooling == POOLINGS[pooling]
    assert checkpoint.settings.similarity == "dot"
    assert check_equal(folder, checkpoint, tmp_path) == ("mean" in pooling)


def dense(*activations: str) -> Modules:
    """Return a function that makes Dense modules with activations of PyTorch."""
    import torch

    functions = [getattr(torch.nn, each)() for each in activations]
    sizes = [32] * len(functions) + [12]
    return lambda modules: [
        modules.Dense(*size, activation_function=function)
        for size, function in zip(pairwise(sizes), functions, strict=True)
    ]


MODULES: dict[str, tuple[Modules, int, str]] = {
    "Dense with Identity": (dense("Identity"), 12, "dot"),
    "Dense with Tanh and ReLU": (dense("Tanh", "ReLU"), 12, "dot"),
    "Dense with SiLU and GELU": (dense("SiLU", "GELU"), 12, "dot"),
    "Dense with Sigmoid": (dense("Sigmoid"), 12, "dot"),
    "LayerNorm": (lambda m: [m.LayerNorm(32)], 32, "dot"),
    "Normalize": (lambda m: [m.Normalize()], 32, "cosine"),
    "Dense without a bias, LayerNorm, Dropout, Normalize": (
        lambda m: [m.Dense(32, 8, bias=False), m.LayerNorm(8), m.Dropout(0.5), m.Normalize()],
        8,
        "cosine",
    ),
    "Dense with a residual": (
        lambda m: [m.Dense(32, 32, use_residual=True), m.Dense(32, 8, use_residual=True)], 8, "dot"
    ),
    "Normalize, Dense": (lambda m: [m.Normalize(), m.Dense(32, 8)], 8, "dot"),
}  # fmt: skip
# Modules in place of the pooling, or before it, and how long their vectors are.
OTHERS: dict[str, tuple[Modules, int]] = {
    "two poolings": (lambda m: [m.Pooling(32, pooling_mode=("mean", "max"))], 64),
    "Dense of tokens": (
        lambda m: [m.Dense(32, 8, module_input_name="token_embeddings"), m.Pooling(8, "cls")], 8
    ),
    "CNN": (lambda m: [m.CNN(32, 16, [1, 3]), m.Pooling(32, "mean")], 32),
    "WeightedLayerPooling": (
        lambda m: [m.WeightedLayerPooling(32, 2, 1), m.Pooling(32, "mean"), m.Normalize()], 32
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_modules_after_pooling_are_kept(name: str, tmp_path: Path) -> None:
    after, dimension, similarity = MODULES[name]
    folder = sentence_folder(tmp_path / "model", after=after, similarity_fn_name="dot")
    checkpoint = read_model(folder)
    assert checkpoint.settings.dimension == dimension
    assert checkpoint.settings.similarity == similarity  # vectors of length 1 have the cosine
    is_sum = check_equal(folder, checkpoint, tmp_path)
    assert is_sum == (name in ("Dense with Identity", "Normalize"))


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_modules_that_pool_in_another_way_are_run(name: str, tmp_path: Path) -> None:
    modules, dimension = OTHERS[name]
    layers: dict[str, Any] = (
        {"output_hidden_states": True} if name == "WeightedLayerPooling" else {}
    )
    folder = chain_folder(tmp_path / "model", modules, **layers)
    checkpoint = read_model(folder)
    assert (checkpoint.settings.pooling, checkpoint.settings.dimension) == ("modules", dimension)
    assert not check_equal(folder, checkpoint, tmp_path)
    again = read_model(checkpoint.save(tmp_path / "checkpoint"))
    assert load(again).after.state_dict().keys() == load(checkpoint).after.state_dict().keys()


@pytest.mark.slow
def test_a_checkpoint_of_an_import_can_be_saved_and_read(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", after=dense("Tanh"))
    again = read_model(read_model(folder).save(tmp_path / "checkpoint"))
    check_equal(folder, again, tmp_path)


@pytest.mark.slow
def test_prompts_of_queries_and_documents_are_kept(tmp_path: Path) -> None:
    prompts = {"query": "find: ", "passage": "passage: ", "other": "?"}
    folder = sentence_folder(tmp_path / "model", prompts=prompts)
    checkpoint = read_model(folder)
    assert checkpoint.settings.query_prompt == "find: "
    assert checkpoint.settings.document_prompt == "passage: "
    compare(folder, checkpoint, TEXTS)
    encoder = served(checkpoint, tmp_path)
    for name, vectors in (
        ("query", encoder.encode_queries(list(TEXTS)).vectors),
        ("passage", encoder.encode_documents(list(TEXTS)).vectors),
    ):
        expected = unit(theirs(folder, prompt_name=name))
        np.testing.assert_allclose(vectors, expected, atol=LARGEST)


def test_prompts_that_are_given_replace_those_of_the_folder(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", prompts={"query": "find: "})
    checkpoint = read_model(folder, query_prompt="query: ", document_prompt="passage: ")
    assert checkpoint.settings.query_prompt == "query: "
    assert checkpoint.settings.document_prompt == "passage: "
    compare(folder, checkpoint, ["a cat", "the sea"])
    assert read_model(folder, query_prompt="").settings.query_prompt == ""


@pytest.mark.parametrize(
    ("name", "warned"),
    [("multilingual-e5-small", True), ("bge-small-en", True), ("bge-m3", False), ("cake5", False)],
)
def test_a_model_that_usually_has_prompts_and_names_none_is_warned_of(
    name: str, warned: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = sentence_folder(tmp_path / name)
    read_model(folder)
    assert ("--query-prompt" in caplog.text) == warned
    caplog.clear()
    read_model(folder, query_prompt="")
    assert not caplog.text


def test_a_model_with_prompts_of_other_names_only_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    described = {"prompts": {"search_query": "q: ", "search_document": "d: ", "none": ""}}
    folder = transformer_folder(tmp_path / "model")
    change(folder / "config_sentence_transformers.json", **described)
    assert read_model(folder).settings.query_prompt == ""
    assert "has prompts (search_query, search_document), but none of a name" in caplog.text
    caplog.clear()
    assert read_model(folder, query_prompt="q: ").settings.query_prompt == "q: "
    assert not caplog.text


@pytest.mark.slow
def test_queries_and_documents_have_limits_of_their_own(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model")
    change(folder / "sentence_bert_config.json", query_length=6, document_length=9)
    checkpoint = read_model(folder)
    assert checkpoint.settings.max_query_tokens == 6
    assert checkpoint.settings.max_document_tokens == 9
    compare(folder, checkpoint, TEXTS)


@pytest.mark.parametrize(
    ("prompts", "default", "expected"),
    [
        ({"query": "q: ", "document": "d: "}, None, ("q: ", "d: ")),
        ({"query": "q: ", "corpus": "c: "}, None, ("q: ", "c: ")),
        ({"query": None, "document": None, "any": "a: "}, "any", ("", "")),
        ({"query": "", "any": "a: "}, "any", ("", "")),
        ({"query": "q: ", "document": "", "passage": "p: "}, "query", ("q: ", "p: ")),
        ({"any": "a: "}, None, ("", "")),
        ({}, None, ("", "")),
    ],
)
def test_the_default_prompt_is_for_neither_queries_nor_documents(
    prompts: Any, default: str | None, expected: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    described = {"prompts": prompts, "default_prompt_name": default}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(described))
    assert choose_prompts(ModelFolder(tmp_path).prompts) == expected


@pytest.mark.slow
def test_the_default_prompt_is_put_before_nothing_as_in_the_library(tmp_path: Path) -> None:
    folder = sentence_folder(
        tmp_path / "model", prompts={"any": "a red "}, default_prompt_name="any"
    )
    checkpoint = read_model(folder)
    compare(folder, checkpoint, TEXTS)
    theirs = sentence_transformers().SentenceTransformer(str(folder), device="cpu")
    assert (theirs.encode_query(["apple"]) == theirs.encode_query(["apple"], prompt="")).all()


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [None, 5])
def test_a_matryoshka_vector_is_cut(chosen: int | None, tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model")
    change(folder / "config_sentence_transformers.json", truncate_dim=9)
    checkpoint = read_model(folder, dimension=chosen)
    assert checkpoint.settings.dimension == (chosen or 9)
    check_equal(folder, checkpoint, tmp_path)
    assert read_model(folder, dimension=32).settings.dimension == 32
    with pytest.raises(InputError, match="dimension is 33; this model allows 1 to 32"):
        read_model(folder, dimension=33)
    change(folder / "config_sentence_transformers.json", truncate_dim=33)
    assert read_model(folder).settings.dimension == 32


@pytest.mark.slow
def test_texts_are_lower_cased_where_the_library_does_it(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", tokenizer_kind="bytes")
    whole = read_model(folder)
    change(folder / "sentence_bert_config.json", do_lower_case=True)
    lowered = read_model(folder)
    assert lowered.tokenizer is not None
    assert whole.tokenizer is not None
    assert lowered.tokenizer.encode("HELLO").ids == whole.tokenizer.encode("hello").ids
    assert lowered.tokenizer.encode("HELLO").ids != whole.tokenizer.encode("HELLO").ids
    check_equal(folder, lowered, tmp_path)


@pytest.mark.slow
def test_a_plain_encoder_gets_the_mean_and_the_cosine(tmp_path: Path) -> None:
    folder = transformer_folder(tmp_path / "plain", "roberta")
    checkpoint = read_model(folder)
    assert checkpoint.settings.pooling == "mean"
    assert checkpoint.settings.similarity == "cosine"
    check_equal(folder, checkpoint, tmp_path)


@pytest.mark.slow
def test_weights_in_16_bits_are_read(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    folder = sentence_folder(tmp_path / "model", after=dense("Tanh"))
    exact = read_model(folder)
    for path in folder.rglob("model.safetensors"):
        half = {name: values.to(torch.bfloat16) for name, values in load_file(path).items()}
        save_file(half, path, {"format": "pt"})
    change(folder / "config.json", dtype="bfloat16")
    checkpoint = read_model(folder)
    compare(folder, checkpoint, TEXTS)  # which computes in 16 bits by itself
    assert {values.dtype for values in checkpoint.weights.values()} <= {
        np.dtype(np.float32),
        np.dtype(np.int64),
    }
    for name, values in exact.weights.items():
        np.testing.assert_allclose(checkpoint.weights[name], values, atol=0.02, rtol=0.01)


def change(path: Path, **values: Any) -> None:
    """Change values of a JSON file."""
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**content, **values}))


def test_a_comparison_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence_transformers()
    folder = transformer_folder(tmp_path / "plain")
    checkpoint = read_model(folder)
    from ranklet.training.rankers.dense import importing

    monkeypatch.setattr(importing, "difference", lambda *_: float("nan"))
    with pytest.raises(ModelFolderError, match="was read wrongly"):
        compare(folder, checkpoint, TEXTS)


def test_a_published_repbert_keeps_its_segments_and_limits(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = transformer_folder(tmp_path / "repbert", max_position_embeddings=300)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps({**config, "architectures": ["RepBERT_Train"], "encode_type": "doc"})
    )
    checkpoint = read_model(folder)
    settings = checkpoint.settings
    assert (settings.pooling, settings.similarity, settings.document_segment) == ("mean", "dot", 1)
    assert (settings.max_query_tokens, settings.max_document_tokens) == (22, LONGEST)
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    ours = load(checkpoint).eval()
    for segment in (0, 1):
        given = dict(tokenizer(TEXTS[0], return_tensors="pt"))
        given["token_type_ids"] = torch.full_like(given["input_ids"], segment)
        with torch.inference_mode():
            wanted = network.eval()(**given).last_hidden_state.mean(1)
            made = ours(given["input_ids"], given["attention_mask"], given["token_type_ids"])
        assert made.numpy() == pytest.approx(wanted.numpy(), abs=1e-5)
