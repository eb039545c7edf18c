"""A Conformer-Kernel in a bundle: impacts, or its network, and what each is for."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.damage import Change, change_array
from tests.explanations import check_sums
from tests.kinds import TinyRankers

from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.verification import verify
from ranklet.training.checkpoint import Checkpoint

NAMES = ("ndrm1", "ndrm2", "ndrm3")


@pytest.fixture
def checkpoints(tiny: TinyRankers) -> dict[str, Checkpoint]:
    return tiny.checkpoints("conformer_kernel")


@pytest.fixture
def indexed(tiny: TinyRankers) -> Bundle:
    return tiny.bundle("conformer_kernel")


def opened(bundle: Bundle, name: str) -> ConformerKernel:
    ranker = open_ranker(bundle.files, name)
    assert isinstance(ranker, ConformerKernel)
    return ranker


def test_retrieving_opens_no_network(indexed: Bundle) -> None:
    code = (
        "import sys; from ranklet import runtime\n"
        "bundle = runtime.load(sys.argv[1])\n"
        "for name in sys.argv[2:]:\n"
        "    found = bundle.rank('quiet stream', pipeline=name, explain=True)\n"
        "    assert len(found) and found.providers == {name: 'numpy'}\n"
        "assert 'onnxruntime' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(indexed.files.path), *NAMES]
    subprocess.run(command, check=True, capture_output=True)


def test_ndrm3_explains_exact_and_latent_matches_apart(indexed: Bundle) -> None:
    recipe = [{"stage": "retrieve", "ranker": "ndrm3", "k": 5}]
    hit = indexed.rank("red apple", pipeline=recipe, explain=True)[0]
    assert hit.explanation is not None
    assert {part.label for part in hit.explanation.parts} <= {"red", "appl"}
    assert {part.query_token for part in hit.explanation.parts} <= {
        ("lemmas", "red"),
        ("lemmas", "appl"),
    }
    leaves = [leaf for part in hit.explanation.parts for leaf in part.parts]
    exact = {leaf.source: leaf.value for leaf in leaves if leaf.source}
    assert ("lemmas", "appl") in exact
    ranker = opened(indexed, "ndrm3")
    query = QueryContext("red apple", indexed.files.analyzer.begin())
    terms = np.unique(query.tokens("lemmas"))
    given = StoredCandidates(indexed.files.documents, np.array([hit.index], np.uint32))  # type: ignore[arg-type]
    by_formula = dict(
        zip(terms.tolist(), ranker.term_matching.explicit(terms, given)[:, 0], strict=True)
    )
    find = indexed.files.analyzer.vocabulary.forms.find
    assert exact["lemmas", "appl"] == pytest.approx(by_formula[find("appl")], rel=1e-4)


@pytest.mark.slow
def test_rescoring_by_the_network_is_a_setting(
    checkpoints: dict[str, Checkpoint], tiny: TinyRankers, tmp_path: Path
) -> None:
    by_network = {
        name: replace(
            checkpoints[name], settings=replace(checkpoints[name].settings, scorer="onnx")
        )
        for name in ("ndrm3", "ndrm2")
    }
    path = tiny.build(tmp_path, {"bm25": checkpoints["bm25"], **by_network})
    bundle = load(path, device="cpu")
    for name, provider in (("ndrm3", "CPUExecutionProvider"), ("ndrm2", "numpy")):
        recipe: list[dict[str, Any]] = [
            {"stage": "retrieve", "ranker": "bm25", "k": 9},
            {"stage": "rescore", "ranker": name},
        ]
        ranking = bundle.rank("old river", k=9, pipeline=recipe, explain=True)
        assert ranking.providers == {name: provider}
        own = [{"id": hit.id, "title": hit.title, "text": hit.text} for hit in ranking]
        scores = bundle.score("old river", own, pipeline=recipe)
        np.testing.assert_allclose(scores, [hit.score for hit in ranking], rtol=1e-4, atol=1e-4)
        for hit in ranking:
            assert hit.explanation is not None
            check_sums(hit.explanation)
        # A list of its own is by impacts, and is explained so.
        alone = [{"stage": "retrieve", "ranker": name, "k": 9}]
        for stages_of_it in (alone, [*alone, recipe[1]]):
            for hit in bundle.rank("old river", pipeline=stages_of_it, explain=True):
                assert hit.explanation is not None
                assert hit.explanation.value == pytest.approx(hit.score, abs=1e-4)


def test_what_the_model_cuts_is_reported(
    checkpoints: dict[str, Checkpoint], tiny: TinyRankers, tmp_path: Path
) -> None:
    settings = replace(checkpoints["ndrm3"].settings, max_document_terms=5, max_query_terms=1)
    short = {"ndrm3": replace(checkpoints["ndrm3"], settings=settings)}
    bundle = load(tiny.build(tmp_path, short), device="cpu")
    assert bundle.manifest.rankers["ndrm3"].measured["truncated"] == 0  # no document is so long
    ranking = bundle.rank("old river", ["an old river " * 9, "short"])
    assert ranking.truncated == {"ndrm3": 2}  # the query and a text
    own = ["old", "river"]
    assert bundle.score("old", own).tolist() == bundle.score("old river", own).tolist()


DAMAGE: dict[str, tuple[str, Change]] = {
    "a row past the network's": ("rows.npy", lambda values: values + 10_000),
    "a row below": ("rows.npy", lambda values: values * 0 - 1),
    "an idf that is no number": ("idf.npy", lambda values: values * np.nan),
    "an idf below zero": ("idf.npy", lambda values: values * 0 - 1),
    "a floor that is no number": ("floors.npy", lambda values: values * np.inf),
    "no impact": ("impacts.npy", lambda values: values * 0),
    "a posting past the collection": ("documents.npy", lambda values: values + 48),
    "a scale of nothing": ("largest.npy", lambda values: values * 0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DAMAGE)
def test_verify_finds_damage_and_ranking_refuses_or_survives_it(
    name: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    victim = Path(shutil.copytree(tiny.indexed("conformer_kernel"), tmp_path / "victim"))
    part, change = DAMAGE[name]
    change_array(victim, f"rankers/ndrm3/{part}", change)
    with pytest.raises(BundleError):
        list(verify(victim))
    bundle = Bundle(victim, device="cpu")
    for documents in (None, ["an old river"]):
        try:
            ranking = bundle.rank("old river", documents, pipeline="ndrm3", explain=True)
        except BundleError:
            continue
        assert all(np.isfinite(hit.score) for hit in ranking)
