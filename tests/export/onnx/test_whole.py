"""What was proven with few tokens is written with all of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.kinds import VARIANTS
from tests.models import TEXTS, probes, transformer_folder

from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.export.vocabulary import cutting
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.encoder import VARIANTS as FILES
from ranklet.training.imported.importing import read_model

FEW = replace(probes(), documents=TEXTS[4:], queries=TEXTS[4:], relevant=((),) * 2)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bert", "xlm-roberta", "t5", "electra"])
def test_files_are_those_of_a_proof_with_all_tokens(
    architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = read_model(transformer_folder(tmp_path / "model", architecture))
    options = ExportOptions(variants=VARIANTS, probes=FEW)
    before = Path(export_bundle({"e": checkpoint}, tmp_path / "before", options))
    monkeypatch.setattr(cutting, "LARGE", 10)
    small, aside = cutting.set_aside(checkpoint, TEXTS[4:])
    assert aside is not None
    assert small.need_tokenizer().get_vocab_size() < checkpoint.need_tokenizer().get_vocab_size()
    after = Path(export_bundle({"e": checkpoint}, tmp_path / "after", options))
    for variant in VARIANTS:
        file = f"rankers/e/{FILES[variant]}"
        assert len(BundleFiles(after).file(file)) == len(BundleFiles(before).file(file))
    for one, other in zip(read_reports(before)["e"], read_reports(after)["e"], strict=True):
        assert one.bytes == other.bytes
    files = [BundleFiles(path, device="cpu") for path in (before, after)]
    from ranklet.runtime.rankers.dense import DenseEncoder

    first, second = (
        DenseEncoder.open(each, "e").encode_documents([*TEXTS]).vectors for each in files
    )
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_a_network_with_few_tokens_or_special_ones_at_the_end_is_proven_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = read_model(transformer_folder(tmp_path / "model"))
    assert cutting.set_aside(checkpoint, TEXTS) == (checkpoint, None)
    monkeypatch.setattr(cutting, "LARGE", 10)
    last = checkpoint.need_tokenizer().get_vocab_size() - 1
    moved = replace(checkpoint, network={**checkpoint.network, "eos_token_id": last})
    assert cutting.set_aside(moved, TEXTS[4:])[1] is None
