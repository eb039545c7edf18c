"""A collection in Milvus is ranked as the bundle ranks it itself; Milvus Lite runs here."""

import asyncio
import json
import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.interrupted import interrupt
from tests.kinds import retrieved_by
from tests.metadata_rows import a_filter

from ranklet.corpus.errors import BuildError
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError, RemoteError, UnknownDocumentError
from ranklet.runtime.hits import Hit
from ranklet.runtime.metadata.where import read_where
from ranklet.runtime.milvus.names import ABOUT
from ranklet.runtime.milvus.search import MilvusSearch
from ranklet.runtime.pipelines.pipeline import Pipeline
from ranklet.runtime.ranking import load
from ranklet.workflows.build import build
from ranklet.workflows.feeds.publishing import publish

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.kinds import TinyRankers

pymilvus = pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

KINDS = {
    "bm25": "bm25", "epic": "epic", "splade": "network", "conformer_kernel": "ndrm3",
    "dense": "dense",
}  # fmt: skip
TEXT = "a quiet stream and an old motor"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_the_bundles(kind: str, tiny: "TinyRankers", place: str) -> None:
    ranker, name = KINDS[kind], f"order_{kind}"
    assert publish(tiny.indexed(kind), place, index=name, rankers=[ranker]) == name
    search = Bundle(tiny.indexed(kind), device="cpu", collection=f"{place}#{name}")
    bundle = tiny.bundle(kind)
    for query in (TEXT, "red castle", "world"):
        found = search.rank(query, k=48, pipeline=retrieved_by(ranker))
        expected = bundle.rank(query, k=48, pipeline=retrieved_by(ranker))
        assert {hit.id for hit in found} == {hit.id for hit in expected}
        scores = {hit.id: hit.score for hit in found}
        np.testing.assert_allclose(
            [scores[hit.id] for hit in expected], [hit.score for hit in expected], rtol=1e-4,
            atol=1e-5,
        )  # fmt: skip
        assert [hit.score for hit in found] == sorted(scores.values(), reverse=True)
        texts = {hit.id: hit.text for hit in expected}
        assert all(hit.text == texts[hit.id] for hit in found)


@pytest.mark.slow
def test_a_bundle_without_documents_retrieves_rescores_and_explains(
    tiny: "TinyRankers", place: str, tmp_path: Path
) -> None:
    checkpoints = {
        "dense": tiny.checkpoint("dense"),
        "cross": tiny.checkpoint("cross_encoder", head="model1", marking="pre_doc"),
    }
    whole = tiny.build(tmp_path, checkpoints)
    publish(whole, place, index="rescored")
    search = Bundle(tmp_path / "rankers", device="cpu", collection=f"{place}#rescored")
    pipeline: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": "dense", "k": 10},
        {"stage": "rescore", "ranker": "cross"},
        {"stage": "fuse", "method": "rrf", "inputs": ["dense", "cross"], "weights": [1, 1]},
    ]
    bundle = Bundle(whole, device="cpu")
    found = search.rank(TEXT, k=5, pipeline=pipeline, explain=True)
    expected = bundle.rank(TEXT, k=5, pipeline=pipeline)
    for hit, own in zip(found, expected, strict=True):  # ids may differ where scores are equal
        assert hit.score == pytest.approx(own.score, rel=1e-4)
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, rel=1e-3)
    assert found.timings[0].stage == "search Milvus"
    assert search.rank(TEXT, k=0, pipeline=pipeline).hits == ()
    assert search.has_collection


@pytest.fixture
def filtered(books: Path, place: str) -> tuple[Bundle, Bundle]:
    return Bundle(books), Bundle(books, collection=f"{place}#books")


@pytest.mark.slow
def test_filters_allow_the_documents_that_the_bundle_allows(
    filtered: tuple[Bundle, Bundle],
) -> None:
    bundle, search = filtered
    random, query = Random(1), "bread water house"
    for _ in range(250):
        where = a_filter(random)
        expected = {hit.id: hit for hit in bundle.rank(query, k=60, where=where)}
        found = {hit.id: hit for hit in search.rank(query, k=60, where=where)}
        assert found.keys() == expected.keys(), where
        assert all(found[name].metadata == hit.metadata for name, hit in expected.items())


def test_of_a_document_the_best_passage_counts(
    documents: list[dict[str, Any]], place: str, tmp_path: Path
) -> None:
    options = SourceOptions(passage_words=3, overlap_words=0)
    path = Path(build(documents, tmp_path / "passages.ranklet", source=options))
    publish(path, place)
    search, bundle = Bundle(path, collection=f"{place}#passages"), Bundle(path)
    for k, pipeline in (
        (20, None),
        (20, Pipeline.from_json([{**retrieved_by("bm25")[0], "k": 5}])),
    ):
        found = search.rank("bread water", k=k, pipeline=pipeline)
        expected = bundle.rank("bread water", k=k, pipeline=pipeline)
        assert len({hit.id for hit in found}) == len(found) > 3
        if pipeline is None:
            assert {hit.id for hit in found} == {hit.id for hit in expected}
        assert [hit.score for hit in found] == pytest.approx(
            [hit.score for hit in expected], rel=1e-5
        )
        assert {hit.id: hit.passage for hit in found} == {hit.id: hit.passage for hit in expected}
    assert search.passages == bundle.passages
    assert search.document("d1") == bundle.document("d1")


def test_a_collection_of_another_bundle_is_refused(
    built: "Built", filtered: tuple[Bundle, Bundle], place: str
) -> None:
    assert filtered
    with pytest.raises(InputError, match="'books' does not belong to this bundle"):
        Bundle(built.indexed, collection=f"{place}#books")
    with pytest.raises(RemoteError, match="nothing"):
        Bundle(built.indexed, collection=f"{place}#nothing")
    with pytest.raises(InputError, match="names no collection"):
        Bundle(built.indexed, collection=place)


def test_what_ranklet_has_not_written_is_refused(built: "Built", place: str) -> None:
    client = pymilvus.MilvusClient(place)
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", pymilvus.DataType.VARCHAR, is_primary=True, max_length=10)
    schema.add_field("v", pymilvus.DataType.FLOAT_VECTOR, dim=2)
    for name, said in (
        ("foreign", ""),
        ("broken", "{"),
        ("later", json.dumps({"version": 9, "fields": {}})),
    ):
        client.create_collection(name, schema=schema, properties={ABOUT: said})
        with pytest.raises(InputError, match=r"was not written by|has version 9"):
            Bundle(built.indexed, collection=f"{place}#{name}")
    with pytest.raises(BuildError, match="is no alias"):
        publish(built.indexed, place, index="foreign", overwrite=True)


@pytest.mark.slow
def test_a_name_means_the_earlier_collection_until_the_new_one_is_complete(
    place: str, tmp_path: Path
) -> None:
    old = Path(build([{"id": "1", "text": "bread"}], tmp_path / "old.ranklet"))
    whole = SourceOptions(passage_words=0, overlap_words=0)
    too_long = [{"id": "1", "text": "bread " * 20_000}]
    long = Path(build(too_long, tmp_path / "long.ranklet", source=whole))
    new = Path(build([{"id": "2", "text": "bread"}], tmp_path / "new.ranklet"))
    publish(old, place, index="swap")
    with pytest.raises(BuildError, match="replace it"):
        publish(new, place, index="swap")
    with pytest.raises(BuildError, match="more than 65,535 bytes"):
        publish(long, place, index="swap", overwrite=True)
    assert [hit.id for hit in Bundle(old, collection=f"{place}#swap").rank("bread")] == ["1"]
    publish(new, place, index="swap", overwrite=True)
    assert [hit.id for hit in Bundle(new, collection=f"{place}#swap").rank("bread")] == ["2"]
    client = pymilvus.MilvusClient(place)
    assert sum(name.startswith("swap_") for name in client.list_collections()) == 1


def test_ids_and_values_of_any_characters_are_found(tmp_path: Path, place: str) -> None:
    odd = ['"', "'", "\\", "\\u0041", "\n\r\t", "\x00\b\f\x1b", "\u2028", '"] or 1 == 1 or ["']
    documents = [{"id": each, "text": "bread", "tag": each} for each in odd]
    publish(Path(build(documents, tmp_path / "b.ranklet")), f"{place}#odd")
    with Bundle(tmp_path / "b.ranklet", collection=f"{place}#odd") as bundle:
        for each in odd:
            assert bundle.document(each).id == each
            assert [hit.id for hit in bundle.rank("bread", where={"tag": each})] == [each]


def test_nobody_answers(built: "Built") -> None:
    with pytest.raises(RemoteError, match=r"127\.0\.0\.1"):
        Bundle.over(
            MilvusSearch(BundleFiles(built.indexed), "milvus://127.0.0.1:1/books", seconds=1)
        )
    with pytest.raises(InputError, match="is no address of Milvus"):
        Bundle(built.indexed, collection="books.txt")


def test_pages_and_thresholds_are_the_bundles(filtered: tuple[Bundle, Bundle]) -> None:
    bundle, search = filtered
    whole = search.rank("bread water", k=20)
    page = search.rank("bread water", k=5, offset=10)
    assert [hit.id for hit in page] == [hit.id for hit in whole][10:15]
    least = whole[7].score
    found = search.rank("bread water", k=20, min_score=least)
    assert len(found) == len(bundle.rank("bread water", k=20, min_score=least - 1e-6)) >= 8
    with pytest.raises(InputError, match="offset"):
        search.rank("bread", offset=-1)


def test_what_needs_a_bundle_of_its_own_is_refused(filtered: tuple[Bundle, Bundle]) -> None:
    _, search = filtered
    for options in ({"pin": ["d1"]}, {"hide": ["d1"]},
                    {"boost": {"year": {"log": True, "weight": 1}}}):  # fmt: skip
        with pytest.raises(
            InputError, match=r"not in Milvus; leave|only documents that a bundle has"
        ):
            search.rank("bread", **options)


def test_groups_are_the_bundles(filtered: tuple[Bundle, Bundle]) -> None:
    bundle, search = filtered
    for name in ("category", "due", "open"):
        for k, offset, size in ((3, 0, 1), (2, 1, 2), (50, 0, 1)):
            options: dict[str, Any] = {
                "k": k, "offset": offset, "group_by": name, "group_size": size,
            }  # fmt: skip
            found = search.rank("bread water house", **options)
            expected = bundle.rank("bread water house", **options)
            assert [hit.score for hit in found] == pytest.approx(
                [hit.score for hit in expected], rel=1e-5
            )
    with pytest.raises(InputError, match="group_by: unknown field 'yaer'"):
        search.rank("bread", group_by="yaer")
    with pytest.raises(InputError, match="facets: Milvus does not return the metadata"):
        search.rank("bread", facets=["due"])
    with pytest.raises(InputError, match="sort: Milvus does not return the metadata"):
        search.rank("bread", sort=["due"])


def test_documents_are_scored_and_explained_by_id(filtered: tuple[Bundle, Bundle]) -> None:
    bundle, search = filtered
    ids = [hit.id for hit in bundle.rank("bread water", k=5)] + ["d0", "d1"]
    np.testing.assert_allclose(
        search.score("bread water", ids=ids), bundle.score("bread water", ids=ids), rtol=1e-5
    )
    for name in ids:
        expected = bundle.explain("bread water", name)
        assert search.explain("bread water", name).value == pytest.approx(expected.value, rel=1e-5)
        assert search.explained("bread water", name).id == name
    for unknown in ("nobody", 'x" or key != "'):
        with pytest.raises(UnknownDocumentError, match="unknown document id"):
            search.explain("bread", unknown)
        with pytest.raises(UnknownDocumentError, match="unknown document id"):
            search.score("bread", ids=[unknown])
    with pytest.raises(InputError, match="either documents"):
        search.score("bread")
    assert search.rank("bread", ["no", "bread"], k=1)[0].text == "bread"


def test_a_restriction_hides_the_other_documents(filtered: tuple[Bundle, Bundle]) -> None:
    bundle, search = filtered
    where = {"year": {">=": 2021}}
    ours, theirs = bundle.only(where), search.only(where)
    assert len(theirs) == len(ours) < len(search) == len(bundle) == 60
    assert theirs.restriction == ours.restriction
    assert theirs.passages == ours.passages == 0
    query = "bread water house"
    for random in (Random(seed) for seed in range(20)):
        narrower = a_filter(random)
        expected = {hit.id for hit in ours.rank(query, k=60, where=narrower)}
        assert {hit.id for hit in theirs.rank(query, k=60, where=narrower)} == expected
    hidden = {hit.id for hit in search.rank(query, k=60)} - {
        hit.id for hit in theirs.rank(query, k=60)
    }
    with pytest.raises(UnknownDocumentError):
        theirs.explain(query, min(hidden))
    again = pickle.loads(pickle.dumps(theirs))  # noqa: S301 (our own)
    assert [hit.id for hit in again.rank(query)] == [hit.id for hit in theirs.rank(query)]
    again.close()


TENANT, TITLED = {"tenant": "a"}, {"title": "house", "text": "cat"}
ASKED = "bread water"
# What each public name of a bundle says of the collection that it ranks. Texts that are scored one
# by one have other scores, because the statistics are those of the bundle's own collection.
CALLS: dict[str, Callable[[Bundle], Any]] = {
    "__len__": len,
    "__repr__": lambda bundle: "#there" in repr(bundle) or bundle.collection is None,
    "collection": lambda bundle: bundle.collection is None or bundle.collection.endswith("#there"),
    "document": lambda bundle: bundle.document("there2"),
    "evidence": lambda bundle: bundle.evidence(ASKED, 9)[0],
    "explain": lambda bundle: bundle.explain(ASKED, "there2").value > 0,
    "explained": lambda bundle: told([replace(bundle.explained(ASKED, "there2"), score=0)]),
    "has_collection": lambda bundle: bundle.has_collection,
    "highlight": lambda bundle: [
        [(span.begin, span.end) for span in bundle.highlight(hit)]
        for hit in bundle.rank(ASKED, k=9, explain=True)
    ],
    "marks": lambda bundle: [bundle.marks(ASKED, hit) for hit in bundle.rank(ASKED, k=9)],
    "metadata": lambda bundle: dict(bundle.metadata),
    "missing_words": lambda bundle: [
        each.typed for each in bundle.missing_words("quagga bread", bundle.rank(ASKED, k=9))
    ],
    "only": lambda bundle: told(bundle.only({"year": 2}).rank(ASKED, k=9)),
    "passages": lambda bundle: bundle.passages,
    "rank": lambda bundle: told(bundle.rank(ASKED, k=9, where={"year": {">": 0}})),
    "rank_async": lambda bundle: told(asyncio.run(bundle.rank_async(ASKED, k=9))),
    "rank_batch": lambda bundle: told(bundle.rank_batch([ASKED], k=9)[0]),
    "rank_batch_async": lambda bundle: told(asyncio.run(bundle.rank_batch_async([ASKED], k=9))[0]),
    "rank_ids": lambda bundle: {name: approx(score) for name, score in bundle.rank_ids(ASKED)},
    "restriction": lambda bundle: bundle.restriction,
    "sample_texts": lambda bundle: sorted(bundle.sample_texts(9)),
    "score": lambda bundle: (bundle.score(ASKED, ids=["there0", "there2"]) > 0).tolist(),
    "size": lambda bundle: bundle.size,
    "titles": lambda bundle: (bundle.titles, bundle.rank("house", [TITLED])[0].score > 0),
    "under": lambda bundle: len(bundle.under(
        read_where({"year": 2}, bundle.metadata), bundle.metadata
    )),
}  # fmt: skip
# These describe the bundle's files and models, whichever collection is ranked. To learn a fusion on
# a collection in Milvus is refused, and so are completions and contexts; see the other calls.
OF_FILES = {
    "additions", "analysis", "at", "close", "closed", "complete", "context", "countable",
    "current", "device", "documents", "encode_document", "encode_query", "features", "files",
    "forget",
    "has_current_synonyms", "log", "manifest", "over", "path", "rates", "similarity", "strict",
    "version",
}  # fmt: skip


def approx(score: float) -> Any:
    return pytest.approx(score, rel=1e-5)


def told(hits: Iterable[Hit]) -> dict[str, Any]:
    return {
        hit.id: (hit.title, hit.text, hit.passage, dict(hit.metadata), approx(hit.score))
        for hit in hits
    }


@pytest.fixture(scope="module")
def elsewhere(
    place: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Bundle, Callable[[], Bundle]]:
    """A bundle, and what opens one of other documents that ranks the first one's collection."""
    folder, words = tmp_path_factory.mktemp("ports"), ["bread", "water", "house", "cat"]
    there = [
        {"id": f"there{n}", "title": words[n % 4], "text": " ".join(words[: n % 3 + 2]),
         "tenant": "ab"[n % 2], "year": n}
        for n in range(7)
    ]  # fmt: skip
    here = [
        {"id": f"here{n}", "title": words[n % 4], "text": " ".join(words[::-1] * 3), "tenant": "a",
         "year": "text"}
        for n in range(3)
    ]  # fmt: skip
    split = SourceOptions(passage_words=4, overlap_words=0)
    publish(Path(build(there, folder / "there.ranklet", title_boost=1)), f"{place}#there")
    local = Path(build(here, folder / "here.ranklet", titles=False, source=split))
    assert Bundle(local).passages == 9
    return Bundle(folder / "there.ranklet"), lambda: load(local, collection=f"{place}#there")


def test_every_public_name_of_a_bundle_is_tried() -> None:
    public = {name for name in dir(Bundle) if not name.startswith("_")}
    special = {
        name for name in vars(Bundle) if name.startswith("__") and callable(vars(Bundle)[name])
    }
    assert CALLS.keys() | OF_FILES >= public
    of_files = {"__init__", "__enter__", "__exit__", "__str__", "__fspath__", "__getattr__"}
    assert special - of_files == CALLS.keys() - public


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("part", [False, True], ids=["whole", "restricted"])
@pytest.mark.parametrize("again", [False, True], ids=["opened", "pickled"])
def test_no_call_answers_from_the_bundles_own_documents(
    elsewhere: tuple[Bundle, Callable[[], Bundle]], name: str, *, part: bool, again: bool
) -> None:
    expected = elsewhere[0]
    with elsewhere[1]() as found:
        if part:
            expected, found = expected.only(TENANT), found.only(TENANT)
        if again:
            found = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own)
        answer = CALLS[name](found)
    assert "here" not in str(answer).replace("there", "")
    assert answer == CALLS[name](expected)


def test_synonyms_are_refused(books: Path, place: str) -> None:
    beside = books.with_name(f"{books.name}.synonyms")
    beside.write_text("bread, loaf\n")
    try:
        with load(books, collection=f"{place}#books") as found:
            with pytest.raises(InputError, match=r"not in Milvus; pass synonyms=False"):
                found.rank("bread")
            assert len(found.rank("bread", k=1, synonyms=False, rules=False)) == 1
            with pytest.raises(InputError, match="completions are read"):
                found.complete("bre")
            with pytest.raises(InputError, match="beside each other"):
                found.context("bread")
            with pytest.raises(InputError, match="beside each other"):
                found.rank("bread", context="section", synonyms=False, rules=False)
    finally:
        beside.unlink()


def test_load_takes_the_address(books: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = load(books, collection=f"{place}#books")
    assert found.collection == f"{place}#books"
    assert load(books, collection=f"{place}#books") is found
    monkeypatch.chdir(Path(place).parent)
    assert load(books, collection=f"{Path(place).name}#books") is found
    assert load(books).collection is None
    assert found.highlight(found.rank("bread", k=1, explain=True)[0])
    assert found.rank("bread", k=1)._repr_html_()
    found.close()
    assert len(load(books, collection=f"{place}#books").rank("bread", k=1)) == 1


@pytest.mark.slow
def test_an_interrupted_call_leaves_the_next_one_right(built: "Built", place: str) -> None:
    publish(built.fused, place, index="interrupted", rankers=["bm25"])
    search = Bundle(built.fused, collection=f"{place}#interrupted")
    pipeline = retrieved_by("bm25")

    def answer(query: str = TEXT) -> list[tuple[str, float]]:
        return [(hit.id, hit.score) for hit in search.rank(query, k=5, pipeline=pipeline)]

    expected, other = answer(), answer("knead dough")

    def check() -> None:
        assert answer("knead dough") == other
        assert answer() == expected

    assert interrupt(lambda: answer(TEXT), check)
