"""A light ranker's parts are proven, and serve PyTorch's vectors."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.kinds import FP32, ROWS, TinyRankers, opened

from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.export.bundles import export_bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.srm.ranker import LightRanker
from ranklet.training.rankers.srm.network import load

TEXTS = ("red apple", "the old river is here", "")
STORED = ["stored int8", "stored int16"]
NETWORK, STATIC = ["fp32", "fp16", "int8", "table int8"], ["fp32", "table int8"]
CODES = ["stored codes"]
ROWS_OF_REPORTS = {
    "light": [*NETWORK, *STORED],
    "static": [*STATIC, *STORED],
    "single_codes": [*STATIC, *STORED, *CODES],
    "mixed_codes": [*NETWORK, *STORED, *CODES],
    "static_codes": [*STATIC, *STORED, *CODES],
    "top1_codes": [*STATIC, *STORED, *CODES],
    "idf": [*STATIC, *STORED, *CODES],
}

CODED = ("single_codes", "mixed_codes", "static_codes", "top1_codes")


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS["srm"].rankers)
def test_vectors_are_those_of_pytorch(tiny: TinyRankers, name: str) -> None:
    network = load(tiny.checkpoints("srm")[name])
    encoder = opened(tiny.exported("srm"), name, LightRanker).encoder
    # What serves has 8 bits only if a network reads the texts.
    near = 2e-5 if encoder.settings.static else 0.2
    for role in ("query", "document"):
        rows, _ = encoder.layout.rows(TEXTS, role)
        weights: list[Any] = [*encoder.sub_embedding_weights(rows)] or [None] * len(rows)
        for row, ours, own in zip(rows, encoder.run(rows, role), weights, strict=True):
            with torch.no_grad():
                found = network(*map(torch.from_numpy, encoder.feeds([row]).values()))
            for made, each in zip((ours, own), found, strict=True):
                assert (made is None) == (each is None)
                if made is not None:
                    expected = each[0].numpy()[row.kept]
                    largest = max(1, float(np.abs(expected).max(initial=0)))
                    np.testing.assert_allclose(made, expected, atol=near * largest)


def test_every_part_is_proven_and_every_stored_form_measured(tiny: TinyRankers) -> None:
    found = read_reports(tiny.exported("srm"))
    for name, variants in ROWS_OF_REPORTS.items():
        reports = {report.variant: report for report in found[name]}
        assert list(reports) == variants
        assert not any(report.refused for report in reports.values())
        assert reports["fp32"].max_error < 1e-3
        assert reports["table int8"].max_error < 0.1
        if "stored codes" in reports:
            assert reports["stored codes"].max_error < 0.2
            assert reports["stored codes"].bytes < reports["stored int8"].bytes


def test_only_files_that_serve_are_written(tiny: TinyRankers) -> None:
    folder = tiny.exported("srm") / "rankers"
    for name in ROWS["srm"].rankers:
        settings = opened(tiny.exported("srm"), name, LightRanker).settings
        variants = {"model.onnx"}
        if not settings.static:
            variants |= {"model_fp16.onnx", "model_int8.onnx"}
        assert {path.name for path in (folder / name).rglob("*")} == variants | {
            "parity.json", "report.json", "table.npy", "table.scales.npy", "tokenizer.json"
        }  # fmt: skip


def test_a_graph_without_an_oracle_is_small_and_in_32_bits(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoints("srm")["static"]
    path = export_bundle({"a": checkpoint}, tmp_path / "b", replace(FP32, variants=("int8",)))
    files = {each.name: each.stat().st_size for each in (Path(path) / "rankers" / "a").iterdir()}
    assert "model_int8.onnx" not in files
    settings = checkpoint.settings
    matrices = 8 * settings.dimension**2 + 4 * (settings.dimension // 2) ** 2  # at most
    assert files["model.onnx"] < 4 * matrices + 40_000  # the rows are not in it


def test_a_table_with_too_few_rows_is_refused(tiny: TinyRankers, tmp_path: Path) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    weights = {**checkpoint.weights}
    weights["light.table.weight"] = weights["light.table.weight"][:-9]
    few = replace(checkpoint, weights=weights, network={})
    with pytest.raises(BuildError, match="but the table has"):
        export_bundle({"a": few}, tmp_path / "b", FP32)


def test_the_stored_form_and_idf_are_chosen_by_the_export(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    chosen = replace(FP32, settings={"stored": "int16", "idf": True})
    settings = opened(
        Path(export_bundle({"a": checkpoint}, tmp_path / "b", chosen)), "a", LightRanker
    ).settings
    assert (settings.stored, settings.idf) == ("int16", True)


def list_searched(path: Path, numbers: list[int]) -> list[str]:
    documents = BundleFiles(path).documents
    assert documents is not None
    return list(documents.read_ranked_texts(numbers))


@pytest.mark.parametrize("name", CODED)
def test_stored_codes_are_those_that_the_encoder_returns(tiny: TinyRankers, name: str) -> None:
    ranker = opened(tiny.indexed("srm"), name, LightRanker)
    numbers, store = [0, 17, 47], ranker.code_store
    offsets, codes, _ = ranker.encoder.codes(list_searched(tiny.indexed("srm"), numbers))
    for at, number in enumerate(numbers):
        begin, end = store.offsets[number : number + 2]
        own = slice(*offsets[at : at + 2])
        for ours, theirs in zip(store.codes, codes, strict=True):
            np.testing.assert_array_equal(ours[begin:end], theirs[own])


@pytest.mark.parametrize("name", ["light", "static", "idf"])
def test_stored_vectors_are_those_that_the_encoder_returns(tiny: TinyRankers, name: str) -> None:
    ranker = opened(tiny.indexed("srm"), name, LightRanker)
    numbers, store = [0, 17, 47], ranker.token_store
    made, _ = ranker.encoder.encode_stored(list_searched(tiny.indexed("srm"), numbers))
    for at, number in enumerate(numbers):
        begin, end = store.offsets[number : number + 2]
        own = slice(*made.offsets[at : at + 2])
        for ours, theirs in zip(store.vectors, made.vectors, strict=True):
            np.testing.assert_array_equal(ours[begin:end], theirs[own])


def test_idf_counts_the_documents_in_which_a_token_has_a_vector(tiny: TinyRankers) -> None:
    ranker = opened(tiny.indexed("srm"), "idf", LightRanker)
    encoder = ranker.encoder
    assert encoder.idf is not None
    texts = list_searched(tiny.indexed("srm"), list(range(48)))
    for word in ("apple", "red", "the", "fortress"):
        (token,) = encoder.tokenizer.encode(word, add_special_tokens=False).ids
        rows, _ = encoder.layout.rows(texts, "document")
        df = sum(token in [row.ids[at] for at in row.kept] for row in rows)
        expected = np.log(1 + (48 - df + 0.5) / (df + 0.5))
        assert encoder.idf[token] == pytest.approx(expected, rel=1e-5)
    special = encoder.tokenizer.token_to_id("[CLS]")
    assert encoder.idf[special] == pytest.approx(np.log(1 + 48.5 / 0.5), rel=1e-5)
