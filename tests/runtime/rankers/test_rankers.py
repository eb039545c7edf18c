"""What holds for a ranker of every kind, on the tiny bundle that tests/kinds.py makes of it."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.explanations import check_sums
from tests.interrupted import LEFT_OPEN, interrupt
from tests.kinds import ROWS, TinyRankers

from ranklet.corpus.building.writer import write_zip
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.kinds import KINDS, ranker_module
from ranklet.runtime.rankers.dense import Dense
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.verification import verify

QUERIES = ("quiet stream", "an old old fiddle", "red apple here", "gnorp winter")
OWN = ["the red apple is red", "an old river " * 9, "", "gnorp", "winter is here here"]


class Subject(NamedTuple):
    """A ranker in its bundle, and the pipeline that ranks by it alone."""

    name: str
    path: Path
    bundle: Bundle
    pipeline: list[dict[str, Any]]


@pytest.fixture(
    params=[(kind, name) for kind, row in ROWS.items() for name in row.rankers], ids="-".join
)
def subject(request: pytest.FixtureRequest, tiny: TinyRankers) -> Subject:
    kind, name = request.param
    return Subject(name, tiny.indexed(kind), tiny.bundle(kind), by_itself(kind, name))


def by_itself(kind: str, name: str) -> list[dict[str, Any]]:
    """Return the pipeline that ranks by one ranker, after BM25 where it cannot retrieve."""
    first = name if KINDS[kind].retrieves else "bm25"
    stages: list[dict[str, Any]] = [{"stage": "retrieve", "ranker": first, "k": 48}]
    return stages if first == name else [*stages, {"stage": "rescore", "ranker": name}]


def test_every_kind_has_a_row() -> None:
    assert set(ROWS) == set(KINDS)


def test_a_ranking_has_the_scores_that_its_documents_get(subject: Subject) -> None:
    for query in QUERIES:
        hits = subject.bundle.rank(query, k=20, pipeline=subject.pipeline)
        ids = [hit.id for hit in hits]
        again = subject.bundle.score(query, ids=ids, pipeline=subject.pipeline)
        np.testing.assert_allclose([hit.score for hit in hits], again, rtol=1e-5, atol=1e-6)
        assert again.dtype == np.float32
        if subject.bundle.manifest.rankers[subject.name].kind == "conformer_kernel":
            continue  # its impacts are stored in fewer bits
        own = [{"id": hit.id, "title": hit.title, "text": hit.text} for hit in hits]
        copies = subject.bundle.score(query, own, pipeline=subject.pipeline)
        np.testing.assert_allclose(copies, again, rtol=1e-5, atol=1e-6)


def test_what_is_cut_is_reported(subject: Subject) -> None:
    kind = subject.bundle.manifest.rankers[subject.name].kind
    limits = vars(subject.bundle.files.settings(subject.name))
    long, pipeline = "old river " * 300, subject.pipeline
    cut = {subject.name: 1}
    found = subject.bundle.rank("red", [long, "red"], pipeline=pipeline).truncated
    assert found == (cut if "max_document_tokens" in limits or kind == "cross_encoder" else {})
    asked = subject.bundle.rank(long, pipeline=pipeline).truncated
    assert asked == ({} if KINDS[kind].lexical or kind == "neural_model1" else cut)


def test_a_text_scores_the_same_alone_and_among_others(subject: Subject) -> None:
    for query in QUERIES:
        together = subject.bundle.score(query, OWN, pipeline=subject.pipeline)
        alone = [subject.bundle.score(query, [t], pipeline=subject.pipeline)[0] for t in OWN]
        assert together.tolist() == alone


class Asked(NamedTuple):
    """A ranker with an index, and some queries to it."""

    ranker: Retriever
    queries: list[QueryContext]


@pytest.fixture(
    params=[
        (kind, name) for kind, row in ROWS.items() if KINDS[kind].retrieves for name in row.rankers
    ],
    ids="-".join,
)
def asked(request: pytest.FixtureRequest, tiny: TinyRankers) -> Asked:
    kind, name = request.param
    files = BundleFiles(tiny.indexed(kind), device="cpu")
    ranker = open_ranker(files, name)
    assert isinstance(ranker, Retriever)
    analysis = files.analyzer.begin()
    return Asked(ranker, [QueryContext(text, analysis) for text in (*QUERIES, "gnorp zork")])


def test_a_mask_leaves_the_ranking_of_the_allowed_documents(asked: Asked) -> None:
    """k documents come back if so many match, as if the others were dropped from the ranking."""
    rng = np.random.default_rng(0)
    for query in asked.queries:
        numbers, scores, truncated = asked.ranker.retrieve(query, 48)
        for share in (0, 0.02, 0.1, 0.3, 0.5, 0.8, 1):
            for k in (0, 1, 3, 10, 48, 999):
                allowed = rng.random(48) < share
                given = allowed.copy()
                found = asked.ranker.retrieve(query, k, allowed)
                kept = allowed[numbers]
                if isinstance(asked.ranker, Dense):  # other sums, whose last bits may order ties
                    assert allowed[found.numbers].all()
                    assert len(set(found.numbers.tolist())) == min(k, kept.sum())
                    np.testing.assert_allclose(found.scores, scores[kept][:k], atol=1e-5)
                else:
                    assert found.numbers.tolist() == numbers[kept][:k].tolist()
                    assert found.scores.tolist() == scores[kept][:k].tolist()
                assert found.query_truncated == truncated
                assert found.numbers.dtype == np.uint32
                assert found.scores.dtype == np.float32
                assert (allowed == given).all()
        for only in range(0, 48, 5):
            found = asked.ranker.retrieve(query, 9, np.arange(48) == only)
            assert found.numbers.tolist() == ([only] if only in numbers else [])


@pytest.mark.parametrize(
    "wrong", [np.ones(47, bool), np.ones(48, np.int64), [True] * 48], ids=["shape", "dtype", "list"]
)
def test_a_wrong_mask_is_refused(asked: Asked, wrong: Any) -> None:
    for query in asked.queries:
        with pytest.raises(InputError, match=r"pass a numpy array of bool of shape \(48,\)"):
            asked.ranker.retrieve(query, 9, wrong)


@pytest.mark.parametrize("own", [None, OWN], ids=["stored", "own"])
def test_an_explanation_adds_up_to_the_score(subject: Subject, own: list[str] | None) -> None:
    for query in QUERIES:
        options: dict[str, Any] = {"k": 20, "pipeline": subject.pipeline, "explain": True}
        for hit in subject.bundle.rank(query, own, **options):
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, rel=1e-4, abs=1e-4)
            check_sums(hit.explanation)


def answers(subject: Subject, bundle: Bundle) -> list[Any]:
    """Return what ranking the collection and own texts gives, with explanations and marks."""
    own = bundle.rank(QUERIES[1], OWN, pipeline=subject.pipeline, budget_ms=1e6)
    ranking = bundle.rank(QUERIES[0], k=3, pipeline=subject.pipeline, explain=True)
    spans = [bundle.highlight(hit) for hit in ranking]
    return [
        [(hit.id, hit.score, hit.explanation) for hit in each] for each in (own, ranking)
    ] + spans


@pytest.mark.slow
@LEFT_OPEN
def test_an_interrupted_call_leaves_no_trace(subject: Subject) -> None:
    before, bundle = answers(subject, subject.bundle), subject.bundle

    def cold() -> None:
        nonlocal bundle
        bundle = Bundle(subject.path, device="cpu")
        answers(subject, bundle)

    def check() -> None:
        assert answers(subject, bundle) == before

    assert interrupt(lambda: answers(subject, bundle), check)
    assert interrupt(cold, check)


def test_a_query_without_a_known_word_gets_finite_scores(subject: Subject) -> None:
    for query in ("gnorp zork", "?!", "\u200b", "é" * 999):
        assert np.isfinite(subject.bundle.score(query, OWN, pipeline=subject.pipeline)).all()
        subject.bundle.rank(query, pipeline=subject.pipeline)


@pytest.mark.parametrize("kind", ROWS)
def test_without_a_collection_the_callers_texts_are_ranked_or_the_error_says_what_to_do(
    kind: str, tiny: TinyRankers
) -> None:
    bundle = Bundle(tiny.exported(kind), device="cpu")
    for name in ROWS[kind].rankers:
        alone = [{"stage": "retrieve", "ranker": name, "k": 48}]  # a caller's texts need no index
        if KINDS[kind].needs_collection:
            with pytest.raises(BundleError, match="ranklet index"):
                bundle.score("old stream", OWN, pipeline=alone)
        else:
            assert np.isfinite(bundle.score("old stream", OWN, pipeline=alone)).all()
        with pytest.raises(BundleError, match="ranklet index"):
            bundle.rank("old stream", pipeline=by_itself(kind, name))


def test_verify_finds_the_bundle_whole(subject: Subject) -> None:
    assert f"ranker {subject.name}" in list(verify(subject.path))


def test_a_zip_answers_as_its_folder_does(subject: Subject, tmp_path: Path) -> None:
    write_zip(subject.path, tmp_path / "b.zip")
    packed = Bundle(tmp_path / "b.zip", device="cpu")
    for query in QUERIES:
        for own in (None, OWN):
            expected = subject.bundle.rank(query, own, pipeline=subject.pipeline)
            assert list(packed.rank(query, own, pipeline=subject.pipeline)) == list(expected)


@pytest.mark.slow
def test_a_changed_byte_of_any_of_its_files_is_found(subject: Subject, tmp_path: Path) -> None:
    victim = Path(shutil.copytree(subject.path, tmp_path / "victim"))
    files = [path for path in (victim / "rankers" / subject.name).rglob("*") if path.is_file()]
    for path in files:  # none, if the kind keeps all in its settings
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(BundleError, match=path.name):
            Bundle(victim, check="full", device="cpu")
        path.write_bytes(content[:-1])  # cut short: seen without reading it
        with pytest.raises(BundleError, match=path.name):
            Bundle(victim, device="cpu")
        path.write_bytes(content)
    Bundle(victim, check="full", device="cpu")


def test_settings_read_back_equal_and_nothing_else_is_read(subject: Subject) -> None:
    entry = subject.bundle.manifest.rankers[subject.name]
    read = ranker_module(entry.kind).SETTINGS.from_json
    settings = read(entry.settings, "here")
    raw = json.loads(json.dumps(asdict(settings)))
    assert read(raw, "here") == settings
    with pytest.raises(BundleError, match=r"here.*surprise"):
        read({**raw, "surprise": 1}, "here")
    for name in raw:
        with pytest.raises(BundleError, match=rf"here.*{name}"):
            read({**raw, name: object}, "here")
