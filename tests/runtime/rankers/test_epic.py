"""EPIC in a bundle: it retrieves and rescores alike, and its explanations name terms."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.damage import Change, change_array, put, replace_file
from tests.explanations import leaves
from tests.kinds import TinyRankers, reranked_by, retrieved_by

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.epic import EPIC
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.verification import verify

ALONE, RERANK = retrieved_by("epic"), reranked_by("epic")


STRONGEST = "not in the text: its strongest expansion"


def test_explanations_add_up_and_tell_terms_from_expansion(epic_bundle: Bundle) -> None:
    places = set()
    for pipeline in (ALONE, RERANK):
        for hit in epic_bundle.rank("old stream", k=10, pipeline=pipeline, explain=True):
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, rel=1e-4, abs=1e-6)
            words = f"{hit.title} {hit.text}".split()
            of_terms = [each for each in hit.explanation.parts if each.query_token]
            # Every term of the query is there, with or without an impact.
            assert {each.query_token for each in of_terms} == {
                ("wordpieces", "old"), ("wordpieces", "stream")
            }  # fmt: skip
            for part in of_terms:
                token = part.label.split(":")[0]
                assert part.query_token == ("wordpieces", token)
                assert float(part.label.split()[2]) > 0  # its importance
                assert part.value == pytest.approx(
                    sum(each.value for each in part.parts), rel=1e-5, abs=1e-6
                )
                for leaf in part.parts:
                    place = leaf.label.removeprefix(f"{token}, ")
                    assert (token in words) == (place == "in the text")
                    assert leaf.source == (part.query_token if token in words else None)
                    places.add(place)
    assert places == {"in the text", "by expansion"}


def test_an_explanation_names_the_strongest_expansion(epic_bundle: Bundle) -> None:
    ranker = open_ranker(epic_bundle.files, "epic")
    assert isinstance(ranker, EPIC)
    tokenizer = epic_bundle.files.analyzer.tokenizer
    hit = epic_bundle.rank("old stream", k=1, pipeline=ALONE, explain=True)[0]
    assert hit.explanation is not None
    (part,) = (each for each in hit.explanation.parts if each.label == STRONGEST)
    vector = ranker.encoders.encode_whole([f"{hit.title}\n{hit.text}"]).vectors[0]
    own = set(tokenizer.encode(f"{hit.title}\n{hit.text}").ids[:15])
    wanted = [at for at in np.argsort(-vector).tolist() if at not in own][:10]
    named = [each.label.split(": impact ") for each in part.parts]
    values = [float(value) for _, value in named]
    np.testing.assert_allclose(values, vector[wanted], atol=2e-3)
    assert {name for name, _ in named[:3]} == {tokenizer.id_to_token(at) for at in wanted[:3]}
    assert part.value == 0
    assert not any(each.value or each.source or each.query_token for each in part.parts)
    # Of a caller's text it is the same.
    own_text = epic_bundle.rank("old stream", [hit.text], pipeline=ALONE, explain=True)[0]
    assert own_text.explanation is not None
    assert own_text.explanation.parts[-1].label == STRONGEST


def test_the_words_that_match_are_highlighted(epic_bundle: Bundle) -> None:
    hit = next(
        hit for hit in epic_bundle.rank("old stream", k=20, pipeline=ALONE, explain=True)
        if "old" in hit.text
    )  # fmt: skip
    text = f"{hit.title}\n{hit.text}"
    spans = [each for each in epic_bundle.highlight(hit) if text[each.begin : each.end] == "old"]
    assert len(spans) == text.split().count("old")
    assert hit.explanation is not None
    (leaf,) = [each for each in leaves(hit.explanation) if each.source == ("wordpieces", "old")]
    assert sum(each.value for each in spans) == pytest.approx(leaf.value, rel=1e-5, abs=1e-6)


def test_verify_runs_the_networks_of_a_bundle_without_documents(
    exported_epic: Path, tmp_path: Path
) -> None:
    assert "ranker epic" in list(verify(exported_epic))
    victim = Path(shutil.copytree(exported_epic, tmp_path / "victim"))
    for path in sorted(victim.rglob("model*.onnx")):
        replace_file(victim, path.relative_to(victim).as_posix(), b"no network")
    with pytest.raises(BundleError, match="epic"):
        list(verify(victim))


def shift_a_boundary(offsets: NDArray[Any]) -> NDArray[Any]:
    full = int(np.flatnonzero(np.diff(offsets) > 1)[0])
    return put(int(offsets[full + 1]) - 1, full + 1)(offsets)


DAMAGE: dict[str, tuple[str, Change]] = {
    "terms that do not ascend": ("vectors.terms", lambda values: values[::-1]),
    "a term past the vocabulary": ("vectors.terms", put(60_000, 39)),
    "a value that is no number": ("vectors.values", put(np.nan)),
    "an infinite value": ("vectors.values", put(np.inf)),
    "a negative value": ("vectors.values", put(-1)),
    "values in 32 bits": ("vectors.values", lambda values: values.astype(np.float32)),
    "offsets that go backwards": ("vectors.offsets", put(10_000, 3)),
    "a priority of nothing": ("priorities", put(0)),
    "a priority that is no number": ("priorities", put(np.nan)),
    "priorities of other terms": ("priorities", lambda values: values[1:]),
    "an impact of nothing": ("index/impacts", put(0)),
    "an infinite impact": ("index/impacts", put(np.inf)),
    "a bound too low": ("index/largest", lambda values: values * np.float32(0.5)),
    "a posting past the collection": ("index/documents", put((1 << 16) - 1, 7)),
    "postings of another term": ("index/offsets", shift_a_boundary),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fault", DAMAGE)
def test_verify_finds_damage_and_ranking_survives_it(
    fault: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    name, change = DAMAGE[fault]
    target = Path(shutil.copytree(tiny.indexed("epic"), tmp_path / "b"))
    change_array(target, f"rankers/epic/{name}.npy", change)
    with pytest.raises(BundleError):
        list(verify(target))
    bundle = Bundle(target, device="cpu")
    for pipeline in (ALONE, RERANK):
        with contextlib.suppress(BundleError):
            scores = [hit.score for hit in bundle.rank("quiet stream", k=48, pipeline=pipeline)]
            assert np.isfinite(scores).all()
