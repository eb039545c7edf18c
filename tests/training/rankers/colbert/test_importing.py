"""Imported late-interaction models have the vectors and scores of their libraries, and rank."""

import json
from collections.abc import Callable
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.kinds import opened
from tests.models import TEXTS, probes, sentence_transformers, transformer_folder

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime import load
from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.rankers.colbert.ranker import ColBERT
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.training.imported.original import compare

FP32 = ExportOptions(variants=("fp32",), probes=probes(), settings={"stored": "int16"})
MARKED = {"query_prefix": "[Q] ", "document_prefix": "[D] "}


def weights(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    made: np.ndarray[Any, Any] = rng.normal(size=shape) / np.sqrt(shape[-1])
    return made.astype(np.float32)


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def dense(folder: Path, size: int, out: int, *, residual: bool = False, bias: bool = False) -> None:
    """Write a layer over each token as PyLate does."""
    named = {"linear.weight": weights(out, size, seed=out)}
    if bias:
        named["linear.bias"] = weights(out)
    if residual and size != out:
        named["residual.weight"] = weights(out, size, seed=9)
    folder.mkdir()
    save_file(named, folder / "model.safetensors")
    write(
        folder / "config.json",
        {
            "in_features": size, "out_features": out, "bias": bias, "use_residual": residual,
            "activation_function": "torch.nn.modules.linear.Identity",
        },
    )  # fmt: skip


def pylate_folder(folder: Path, layers: int = 1, markers: bool = True, **said: Any) -> Path:
    """Write a model in the layout of PyLate: a transformer, layers, and one file of settings."""
    transformer_folder(folder)
    types = [("sentence_transformers.models.Transformer", "")]
    for at in range(1, layers + 1):
        size, out = (32 if at == 1 else 24), (24 if at < layers else 16)
        dense(folder / f"{at}_Dense", size, out, residual=layers > 1, bias=at == 2)
        types.append(("pylate.models.Dense.Dense", f"{at}_Dense"))
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": kind}
        for at, (kind, path) in enumerate(types)
    ]
    write(folder / "modules.json", modules)
    prefixes = {}
    if markers:
        prefixes = add_markers(folder)
    settings = {
        "model_type": "ColBERT", "prompts": {"query": "", "document": ""},
        "default_prompt_name": None, "similarity_fn_name": "MaxSim", "query_length": 20,
        "document_length": 30, "attend_to_expansion_tokens": False, "do_query_expansion": True,
        "skiplist_words": list(punctuation), **prefixes, **said,
    }  # fmt: skip
    write(folder / "config_sentence_transformers.json", settings)
    return folder


def add_markers(folder: Path) -> dict[str, str]:
    """Give the markers rows of the embeddings and entries of the tokenizer, as PyLate does."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder)
    tokenizer.add_tokens(list(MARKED.values()))
    model.resize_token_embeddings(len(tokenizer))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return MARKED


def colbert_ir_folder(folder: Path, **said: Any) -> Path:
    """Write a model in the layout of colbert-ir: a BERT, linear.weight and artifact.metadata."""
    transformer_folder(folder)
    of_bert = {
        f"bert.{name}": each for name, each in load_file(folder / "model.safetensors").items()
    }
    linear = {"linear.weight": weights(16, 32)}
    save_file({**of_bert, **linear}, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text("utf-8"))
    write(folder / "config.json", {**config, "architectures": ["HF_ColBERT"]})
    settings = {
        "query_token_id": "[CLS]", "doc_token_id": "[SEP]", "query_maxlen": 20, "doc_maxlen": 30,
        "mask_punctuation": True, "attend_to_mask_tokens": False, "dim": 16, "similarity": "cosine",
    }  # fmt: skip
    write(folder / "artifact.metadata", {**settings, **said})
    return folder


def module_folder(folder: Path, *, normalise: bool = True, **transformer: Any) -> Path:
    """Save a model as sentence-transformers does."""
    import torch

    library = sentence_transformers()
    modules = library.sentence_transformer.modules
    plain = transformer_folder(folder.with_name(f"{folder.name}-plain"))
    first = library.base.modules.Transformer(str(plain), **transformer)
    layer = modules.Dense(
        32, 16, bias=True, activation_function=torch.nn.Tanh(), module_input_name="token_embeddings"
    )
    parts = [first, layer, library.multi_vector_encoder.modules.MultiVectorMask(["a"])]
    if normalise:
        parts.append(modules.Normalize(module_input_name="token_embeddings"))
    made = library.MultiVectorEncoder(modules=parts, device="cpu", prompts={"query": "x "})
    made.save(str(folder))
    return folder


FOLDERS: dict[str, Callable[[Path], Path]] = {
    "pylate": pylate_folder,
    "pylate, attended": lambda folder: pylate_folder(folder, attend_to_expansion_tokens=True),
    "pylate, no expansion": lambda folder: pylate_folder(
        folder, do_query_expansion=False, skiplist_words=["a", "river"]
    ),
    "pylate, residual layers": lambda folder: pylate_folder(folder, 3),
    "pylate, no markers": lambda folder: pylate_folder(
        folder, markers=False, query_prefix="", document_prefix=""
    ),
    "colbert-ir": colbert_ir_folder,
    "modules": lambda folder: module_folder(
        folder, query_expansion={"strategy": "fixed", "length": 20}, document_length=30
    ),
    "modules, no limits": module_folder,
    "modules, dot": lambda folder: module_folder(folder, normalise=False, query_length=9),
}


def served(checkpoint: Checkpoint, folder: Path) -> ColBERT:
    path = Path(export_bundle({"late": checkpoint}, folder / "bundle", FP32))
    return opened(path, "late", ColBERT)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS)
def test_vectors_and_scores_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    library = sentence_transformers()
    folder = FOLDERS[name](tmp_path / "model")
    checkpoint = read_model(folder)
    compare(folder, checkpoint, TEXTS)
    theirs = library.MultiVectorEncoder(str(folder), device="cpu").float()
    encoder = served(checkpoint, tmp_path).encoder
    queries = theirs.encode_query(list(TEXTS), convert_to_numpy=True)
    documents = theirs.encode_document(list(TEXTS), convert_to_numpy=True)
    stored = encoder.encode_documents(TEXTS).store
    for text, query in zip(TEXTS, queries, strict=True):
        expected = [(query @ document.T).max(1).sum() for document in documents]
        scores = stored.scores(encoder.encode_query(text)[0], np.arange(len(TEXTS)))
        np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=2e-3)
    assert np.ptp(expected) > 0.1  # so that the comparison says something


def test_settings_are_read(tmp_path: Path) -> None:
    settings = read_model(pylate_folder(tmp_path / "a")).settings
    assert (settings.query_prompt, settings.document_prompt) == ("[Q] ", "[D] ")
    assert (settings.max_query_tokens, settings.max_document_tokens) == (20, 30)
    assert (settings.expansion, settings.expansion_token) == ("unattended", "[MASK]")
    assert (settings.similarity, settings.dimension) == ("cosine", 16)
    known = settings.skipped.split()
    assert known
    assert set(known) <= set(punctuation)
    settings = read_model(colbert_ir_folder(tmp_path / "b", mask_punctuation=False)).settings
    assert (settings.query_prompt, settings.skipped) == ("[CLS] ", "")


@pytest.mark.slow
def test_an_imported_model_ranks_a_collection(tmp_path: Path, tiny_collection: Collection) -> None:
    checkpoint = read_model(pylate_folder(tmp_path / "model"))
    exported = Path(export_bundle({"late": checkpoint}, tmp_path / "exported", FP32))
    bundle = load(index_bundle(exported, tiny_collection, tmp_path / "indexed").path, device="cpu")
    hits = bundle.rank("the red apple", k=5, explain=True)
    assert len(hits) == 5
    assert hits[0].explanation is not None


def spoiled(folder: Path, file: str, **changes: Any) -> Path:
    write(folder / file, {**json.loads((folder / file).read_text("utf-8")), **changes})
    return folder


def test_what_is_not_supported_is_named(tmp_path: Path) -> None:
    settings, layer = "config_sentence_transformers.json", "1_Dense/config.json"
    refused: list[tuple[Path, str]] = [
        (spoiled(pylate_folder(tmp_path / "a"), settings, similarity_fn_name="meanmaxsim"), "mean"),
        (
            spoiled(pylate_folder(tmp_path / "d"), layer, module_input_name="sentence_embedding"),
            "has a Dense that cannot read what is before it",
        ),
        (spoiled(pylate_folder(tmp_path / "e"), layer, out_features=8), "size mismatch|Error"),
    ]
    without = colbert_ir_folder(tmp_path / "g")
    named = load_file(without / "model.safetensors")
    del named["linear.weight"]
    save_file(named, without / "model.safetensors", {"format": "pt"})
    refused.append((without, r"KeyError: 'linear\.weight'"))
    pooled = pylate_folder(tmp_path / "h")
    modules = json.loads((pooled / "modules.json").read_text("utf-8"))
    modules.append({"idx": 2, "name": "2", "path": "2", "type": "pylate.models.TokenPooling"})
    write(pooled / "modules.json", modules)
    refused.append((pooled, "the module class 'pylate.models.TokenPooling'"))
    for folder, message in refused:
        with pytest.raises(ModelFolderError, match=message):
            read_model(folder)


@pytest.mark.parametrize(
    ("place", "changes", "message"),
    [
        ("2_MultiVectorMask/config.json", {"keep_only_token_ids": [3]}, "leaves out tokens"),
        ("2_MultiVectorMask/config.json", {"skiplist_tasks": ["query"]}, "leaves out tokens"),
        (
            "sentence_bert_config.json",
            {"query_expansion": {"strategy": "min", "length": 9}},
            "expands queries by 'min'",
        ),
    ],
)
def test_settings_of_modules_that_are_not_supported_are_named(
    tmp_path: Path, place: str, changes: dict[str, Any], message: str
) -> None:
    folder = spoiled(module_folder(tmp_path / "model"), place, **changes)
    with pytest.raises(ModelFolderError, match=message):
        read_model(folder)
