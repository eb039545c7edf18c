from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.classifiers import classifier_folder
from tests.models import probes, sentence_folder, sentence_transformers

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.rankers.dense import DenseSettings
from ranklet.runtime.rankers.splade import SPLADESettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.workflows.imported import ORIGINAL, describe_model, with_probes


@pytest.mark.parametrize(
    ("kind", "settings", "training", "line"),
    [
        (
            "dense",
            DenseSettings(pooling="cls", query_prompt="query: "),
            {},
            "dense encoder, cls pooling, cosine, 256 tokens, 384 dimensions, 'query: ' before "
            "every query",
        ),
        (
            "dense",
            DenseSettings(encoder="table", max_document_tokens=4096),
            {},
            "static embeddings, cosine, 4,096 tokens, 384 dimensions",
        ),
        (
            "cross_encoder",
            CrossEncoderSettings(head="imported", max_tokens=512),
            {"label": "entailment", "activation": "identity"},
            "cross-encoder, imported head, identity of 'entailment', 512 tokens",
        ),
        (
            "splade",
            SPLADESettings(queries="idf", max_document_tokens=256),
            {},
            "sparse encoder, queries by idf, 256 tokens",
        ),
        (
            "conformer_kernel",
            ConformerKernelSettings(),
            {},
            "Conformer-Kernel of its authors, ndrm3, 4,000 terms",
        ),
        (
            "colbert",
            ColBERTSettings(),
            {},
            "late-interaction encoder, cosine, 180 tokens, 128 dimensions",
        ),
    ],
)
def test_what_was_recognised_is_one_line(
    kind: str, settings: Any, training: dict[str, str], line: str
) -> None:
    assert describe_model(Checkpoint(kind, settings, training=training)) == line


@pytest.mark.slow
def test_models_are_compared_and_get_texts_to_be_verified_on(tmp_path: Path) -> None:
    sentence_transformers()
    folders = {"a": sentence_folder(tmp_path / "a"), "b": classifier_folder(tmp_path / "b")}
    models = {name: read_model(folder) for name, folder in folders.items()}
    trained = Checkpoint("bm25", BM25Settings())
    folders["bm25"] = trained.save(tmp_path / "bm25")
    ready = with_probes({**models, "bm25": trained}, folders, probes())
    assert ready["bm25"] is trained
    for name in models:
        assert ready[name].probes == probes()
        assert ready[name].training[ORIGINAL].startswith("equal to sentence-transformers")
    weights = {name: values * 2 for name, values in models["b"].weights.items()}
    with pytest.raises(ModelFolderError, match="was read wrongly, because its output differs"):
        with_probes({"b": replace(models["b"], weights=weights)}, folders, probes())
