"""A light ranker in a bundle: equal scores everywhere, IDF, damaged files, and what is imported."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.damage import Change, change_array, put, replace_file
from tests.kinds import ROWS, TinyRankers, opened, retrieved_by

from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.srm.ranker import LightRanker
from ranklet.runtime.rankers.verification import verify

NAMES = tuple(ROWS["srm"].rankers)
STATIC = ("static", "single_codes", "static_codes", "top1_codes", "idf")


def test_idf_weighs_the_matches_of_a_query(tiny: TinyRankers) -> None:
    bundle, pipeline = tiny.bundle("srm"), retrieved_by("idf")
    ranker = opened(tiny.indexed("srm"), "idf", LightRanker)
    weights = ranker.encoder.token_weights("red stream")
    assert len({*weights.tolist()}) == 2
    ids, features = bundle.features("red stream", pipeline=pipeline)
    scores = bundle.score("red stream", ids=ids, pipeline=pipeline)
    np.testing.assert_allclose(features["idf"], scores / weights.sum(), rtol=1e-5)
    # Its vectors do not depend on their context, so the score is a weighted sum of single words'.
    single = [
        bundle.score(word, ids=ids, pipeline=pipeline).astype(np.float64)
        for word in ("red", "stream")
    ]
    np.testing.assert_allclose(sum(single), scores, rtol=1e-4)


def test_without_a_collection_all_tokens_weigh_the_same(tiny: TinyRankers) -> None:
    ranker = opened(tiny.exported("srm"), "idf", LightRanker)
    assert ranker.encoder.token_weights("red stream").tolist() == [1, 1]


def test_every_network_is_named_and_no_other(tiny: TinyRankers) -> None:
    for name in NAMES:
        ranker = opened(tiny.indexed("srm"), name, LightRanker)
        without = ranker.settings.static
        assert ranker.provider == ("" if without else "CPUExecutionProvider")
        assert without == (name in STATIC)


def test_a_table_is_mapped_and_not_read(tiny: TinyRankers) -> None:
    table = opened(tiny.indexed("srm"), "static", LightRanker).encoder.table
    assert not table.values.flags.owndata
    assert not table.values.flags.writeable


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("idf", "has no output 'sub_embedding_weights'"),  # its vectors have no context
        ("single_codes", "cannot run"),  # it has other rows
        ("", "cannot be loaded"),
    ],
)
def test_another_graph_is_damage(
    tiny: TinyRankers, tmp_path: Path, other: str, message: str
) -> None:
    victim = Path(shutil.copytree(tiny.indexed("srm"), tmp_path / "victim"))
    graph = (victim / f"rankers/{other}/model.onnx").read_bytes() if other else b"\x08\x08"
    replace_file(victim, "rankers/static/model.onnx", graph)
    with pytest.raises(BundleError, match=message):
        Bundle(victim, device="cpu").rank(
            "red stream", pipeline=retrieved_by("static"), explain=True
        )


def cut(held: NDArray[Any]) -> NDArray[Any]:
    return held[:-1]


def narrowed(held: NDArray[Any]) -> NDArray[Any]:
    return held[..., :-1]


def doubled(held: NDArray[Any]) -> NDArray[Any]:
    return held.astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("static", "table.scales", put(np.nan), "not finite and above 0"),
        ("static", "table.scales", put(0.0, -1), "not finite and above 0"),
        ("static", "table.scales", put(-1.0), "not finite and above 0"),
        ("static", "table.scales", cut, "table.scales"),
        ("static", "table.scales", narrowed, "table.scales"),
        ("static", "table.scales", doubled, "table.scales"),
        ("static", "table", narrowed, "table.npy"),
        ("static", "table", lambda held: held[:, :-1], "table.npy"),
        ("static", "table", lambda held: held.reshape(len(held), -1), "table.npy"),
        ("static", "table", lambda held: held.astype(np.int16), "table.npy"),
        ("static", "table", cut, "table.scales"),
        ("static", "vectors.scales", put(0.0), "not finite and above 0"),
        ("idf", "idf", put(0.0), "not finite and above 0"),
        ("idf", "idf", put(np.nan, -1), "not finite and above 0"),
        ("idf", "idf", cut, "but the tokenizer has"),
        ("idf", "idf", doubled, "idf.npy"),
        ("idf", "idf", lambda held: held[:, None], "idf.npy"),
        ("single_codes", "codes.tokens", put(60_000, -1), "past the table"),
        ("single_codes", "codes.tokens", cut, "codes.tokens"),
        ("single_codes", "codes.tokens", lambda held: held.astype(np.uint32), "codes.tokens"),
        ("single_codes", "codes.tokens", lambda held: held.astype(np.int16), "codes.tokens"),
        ("single_codes", "codes.offsets", put(1), "begin with 0"),
        ("single_codes", "codes.offsets", put(-5, 3), "never decrease"),
        ("single_codes", "codes.offsets", put(10**12, -1), "codes.tokens"),
        ("single_codes", "codes.offsets", cut, "codes.offsets"),
        ("mixed_codes", "codes.weights", cut, "codes.weights"),
        ("mixed_codes", "codes.weights", narrowed, "codes.weights"),
        ("mixed_codes", "codes.weights", lambda held: held.astype(np.int8), "codes.weights"),
        ("top1_codes", "codes.weights", put(3, -1), "sub-embedding 3"),
    ],
)
def test_verify_finds_damaged_files(
    tiny: TinyRankers, tmp_path: Path, name: str, file: str, change: Change, message: str
) -> None:
    victim = Path(shutil.copytree(tiny.indexed("srm"), tmp_path / "victim"))
    change_array(victim, f"rankers/{name}/{file}.npy", change)
    with pytest.raises(BundleError, match=message):
        list(verify(victim))


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("static", r" \(sub-embedding [123] of 3, \d+%\)$"),
        ("mixed_codes", r" \(sub-embedding [123] of 3, \d+%\)$"),
        ("top1_codes", r" \(sub-embedding [123] of 3\)$"),
        ("light", r" \(sub-embedding [123] of 3, \d+%\)$"),
        ("single_codes", r"[^)]$"),
    ],
)
def test_an_explanation_names_the_sub_embedding_that_weighs_most(
    tiny: TinyRankers, name: str, pattern: str
) -> None:
    bundle = tiny.bundle("srm")
    for hit in bundle.rank("quiet stream", k=5, pipeline=retrieved_by(name), explain=True):
        assert hit.explanation is not None
        labels = [leaf.label for leaf in _leaves(hit.explanation) if " → " in leaf.label]
        assert labels
        assert all(re.search(pattern, label) for label in labels)


def _leaves(explanation: Explanation) -> list[Explanation]:
    return [leaf for part in explanation.parts for leaf in _leaves(part)] or [explanation]
