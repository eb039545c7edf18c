"""A model with the tokens of a collection makes the same vectors and scores of its texts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.classifiers import classifier_folder
from tests.kinds import FP32
from tests.models import TEXTS, probes, sentence_folder, transformer_folder

from ranklet import runtime
from ranklet.corpus.updating.update import VOCABULARY, update
from ranklet.export.bundles import export_bundle
from ranklet.export.vocabulary.cutting import cut_all, cut_to_collection, table_names
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.workflows.build import build

KEPT = (TEXTS[1], TEXTS[4], TEXTS[5])


def vectors(checkpoint: Checkpoint, target: Path) -> np.ndarray:
    own = replace(probes(), documents=KEPT, queries=KEPT, relevant=((),) * 3)
    path = export_bundle({"model": checkpoint}, target, replace(FP32, probes=own))
    return (
        DenseEncoder.open(BundleFiles(path, device="cpu"), "model")
        .encode_documents([*KEPT])
        .vectors
    )


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bert", "roberta", "xlm-roberta", "qwen3"])
def test_a_cut_encoder_makes_the_same_vectors(architecture: str, tmp_path: Path) -> None:
    whole = read_model(transformer_folder(tmp_path / "model", architecture))
    cut = cut_to_collection(whole, lambda: KEPT)
    (name, *_) = table_names(whole)
    assert len(cut.weights[name]) < len(whole.weights[name])
    assert cut.training[VOCABULARY].endswith("tokens, those of the collection")
    np.testing.assert_allclose(
        vectors(cut, tmp_path / "cut"), vectors(whole, tmp_path / "whole"), atol=1e-6
    )


@pytest.mark.slow
def test_a_bundle_has_the_tokens_of_its_documents(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = sentence_folder(tmp_path / "encoder", prompts={"query": "query: ", "document": "a "})
    judge = classifier_folder(tmp_path / "judge")
    found = []
    for vocabulary in ("model", "collection"):
        path = build(
            KEPT, tmp_path / vocabulary, models=[folder, judge], vocabulary=vocabulary, export=FP32
        )
        bundle = runtime.load(path)
        tokenizer = BundleFiles(path).tokenizer("rankers/encoder/tokenizer.json")
        scores = bundle.score(KEPT[2], [*KEPT], pipeline="judge")
        found.append((tokenizer.get_vocab_size(), scores, bundle.rank(KEPT[2], pipeline="encoder")))
        assert bundle.rank("unknown words of a river", k=2)
    update(path, [{"id": "new", "text": "new words"}])
    assert "split into smaller tokens until the next build" in caplog.text
    (whole, scores, ranking), (cut, same, again) = found
    assert cut < whole
    assert list(same) == pytest.approx(list(scores), abs=1e-5)
    assert [hit.id for hit in again] == [hit.id for hit in ranking]


def test_models_that_need_all_tokens_are_named(tmp_path: Path) -> None:
    sparse = read_model(transformer_folder(tmp_path / "splade", head="ForMaskedLM"))
    with pytest.raises(InputError, match="--vocabulary collection is for dense encoders"):
        cut_all({"splade": sparse}, lambda: KEPT)
