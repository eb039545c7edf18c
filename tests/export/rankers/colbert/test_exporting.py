"""A ColBERT's one encoder is proven by MaxSim, and gives PyTorch's vectors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.kinds import FP32, TinyRankers, opened

from ranklet.corpus.errors import BuildError
from ranklet.export.bundles import export_bundle
from ranklet.export.rankers.colbert.exporting import count_stored_bytes, float_scores, form_reports
from ranklet.runtime.call.protocol import Role
from ranklet.runtime.dense.maxsim import TokenStore
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.colbert.ranker import ColBERT
from ranklet.training.rankers.colbert import training as colbert

TEXTS = ("red apple", "the old river is here", "")


@pytest.mark.parametrize("name", ["colbert", "expanded", "dot"])
@pytest.mark.parametrize("role", ["query", "document"])
def test_vectors_are_those_of_pytorch(tiny: TinyRankers, name: str, role: Role) -> None:
    network = colbert.load(tiny.checkpoints("colbert")[name])
    encoder = opened(tiny.indexed("colbert"), name, ColBERT).encoder
    rows, _ = encoder.layout.rows(TEXTS, role)
    for row, ours in zip(rows, encoder.encode(TEXTS, role).vectors, strict=True):
        with torch.no_grad():
            inputs = map(torch.from_numpy, row_feeds([row]).values())
            expected = network(*inputs)[0].numpy()[row.kept]
        # The variant that serves has 8 bits.
        np.testing.assert_allclose(ours, expected, atol=0.2)
        if name != "dot":  # the cosine
            np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, rtol=1e-5)


def test_the_stored_form_is_chosen_by_the_export(tiny: TinyRankers, tmp_path: Path) -> None:
    checkpoint = tiny.checkpoints("colbert")["colbert"]
    chosen = replace(FP32, settings={"stored": "int16"})
    path = Path(export_bundle({"colbert": checkpoint}, tmp_path / "b", chosen))
    assert opened(path, "colbert", ColBERT).settings.stored == "int16"
    wrong = replace(FP32, settings={"stored": "float16"})
    with pytest.raises(Exception, match="stored is 'float16'; allowed are int8, int16"):
        export_bundle({"colbert": checkpoint}, tmp_path / "c", wrong)
    with pytest.raises(BuildError, match="no checkpoint has the setting 'stored'"):
        export_bundle({"bm25": tiny.checkpoint("bm25")}, tmp_path / "d", chosen)


def texts(rng: np.random.Generator, lengths: tuple[int, ...]) -> list[np.ndarray]:
    made = [rng.normal(size=(length, 32)).astype(np.float32) for length in lengths]
    return [each / np.linalg.norm(each, axis=1, keepdims=True) for each in made]


def test_scores_in_32_bits_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(0)
    queries, documents = texts(rng, (3, 0, 2)), texts(rng, (4, 0, 1))
    scores = float_scores(queries, documents)
    assert scores.dtype == np.float32
    for i, query in enumerate(queries):
        for j, document in enumerate(documents):
            best = [max((float(q @ d) for d in document), default=0.0) for q in query]
            assert scores[i, j] == pytest.approx(sum(best), abs=1e-5)


def test_finer_forms_lose_less_and_coarser_ones_take_less() -> None:
    rng = np.random.default_rng(1)
    queries, documents = texts(rng, (5,) * 8), texts(rng, (12,) * 30)
    relevant = [[at] for at in range(8)]
    reports = {each.variant: each for each in form_reports(queries, documents, relevant)}
    assert list(reports) == ["stored int8", "stored int16"]
    eight, sixteen = reports.values()
    assert sixteen.max_error < 0.01
    assert sixteen.max_error < eight.max_error < 0.1
    factor, offset = 4, 8 * 31 / 30
    assert eight.bytes == round(12 * (32 + factor) + offset)
    assert sixteen.bytes == round(12 * (2 * 32 + factor) + offset)


def test_the_size_of_a_store_counts_values_factors_and_offsets() -> None:
    store = TokenStore.of([np.ones((3, 8), np.float32)], "int16", 8)
    assert count_stored_bytes(store) == 3 * 8 * 2 + 3 * 4 + 2 * 8
