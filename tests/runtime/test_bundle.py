"""The public functions, on a real bundle: what they answer, and what they refuse."""

import asyncio
import copy
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from threading import Event, get_ident
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.growth import grows_linearly

from ranklet import runtime
from ranklet.runtime import (
    Bundle,
    BundleError,
    Explanation,
    Fuse,
    InputError,
    Keep,
    Pipeline,
    Rescore,
    Retrieve,
    UnknownRankerError,
)
from ranklet.runtime.bundle import in_thread

if TYPE_CHECKING:
    from tests.conftest import Built


QUERIES = [
    "how long to knead dough",
    "mouse in my house",
    "fix a flat bicycle tyre with a patch",
    "café crème in Paris",
    "water water everywhere",
    "gnorp zork water",
]
LEXICAL = ("bm25", "bm25_words", "bm25_pieces")
EVEN = Fuse("linear", ("bm25", "model1", "model1_pieces"), (0.4, 0.3, 0.3))
STAGES = (Retrieve("bm25", 1000), Rescore("model1"), Rescore("model1_pieces"))
LISTS = (Retrieve("bm25_words", 3), Retrieve("bm25_pieces", 5))
PIPELINES: dict[str, str | Pipeline] = {
    **{name: name for name in (*LEXICAL, "rrf", "linear")},
    "rescore": Pipeline(STAGES[:2]),
    "pieces first": Pipeline((Retrieve("bm25_pieces"), Rescore("model1"), Rescore("bm25"))),
    "even": Pipeline((*STAGES, EVEN)),
    "even, cut": Pipeline((*STAGES, EVEN, Keep(3))),
    "rrf, cut": Pipeline((*STAGES, Fuse("rrf", ("bm25", "model1"), (1.0, 0.5)), Keep(3))),
    "two lists, rrf": Pipeline((*LISTS, Fuse("rrf", ("bm25_words", "bm25_pieces"), (1.0, 1.0)))),
    "two lists, linear": Pipeline(
        (
            *LISTS,
            Rescore("model1"),
            Fuse("linear", ("bm25_words", "bm25_pieces", "model1"), (1.0, 0.5, 2.0)),
        )
    ),
    "alternate": Pipeline((*LISTS, Fuse("alternate", ("bm25_words", "bm25_pieces")))),
    "fusion of fusions": Pipeline(
        (
            *STAGES,
            Fuse("rrf", ("bm25", "model1"), (1.0, 1.0), "x"),
            Fuse("alternate", ("bm25", "model1_pieces"), (), "y"),
            Fuse("linear", ("x", "y", "bm25"), (2.0, 0.1, 1.0), "z"),
            Keep(4),
        )
    ),
}
# Kinds whose scores hang on the document alone: no ranks among others.
ABSOLUTE = (*LEXICAL, "linear", "rescore", "pieces first", "even", "two lists, linear")
OWN = [
    "Knead the dough.",
    "",
    "A gnorp lives in the zork house.",
    "Mice and mouse traps in a house",
]

QUERY = "knead the dough, feed the starter, patch the tyre"
PATIENCE = 60  # seconds after which a test has failed, however slow the machine


def recipe(name: str) -> str | Pipeline:
    return PIPELINES[name]


def check_parts(explanation: Explanation) -> None:
    """Check that the parts of every node add up to it."""
    if explanation.parts:
        total = sum(part.value for part in explanation.parts)
        assert total == pytest.approx(explanation.value, abs=1e-5)
    assert type(explanation.value) is float  # no numpy number, which json would refuse
    for part in explanation.parts:
        check_parts(part)


# --------------------------------------------------------------------------------- what comes back


def test_the_right_document_is_found(bundle: Bundle) -> None:
    assert bundle.rank("how long to knead dough")[0].id == "bread"
    assert bundle.rank("a mouse", pipeline="bm25")[0].id == "mice"  # over lemmas
    hit = bundle.rank("cafe creme")[0]
    assert (hit.id, hit.title, hit.index) == ("café", "Ordering in a Parisian café", 39)
    assert hit.text.startswith("Say bonjour first.")
    assert hit.explanation is None


@pytest.mark.parametrize("name", PIPELINES)
def test_hits_come_best_first_without_repeats(bundle: Bundle, name: str) -> None:
    for query in QUERIES:
        found = bundle.rank(query, k=100, pipeline=recipe(name))
        keys = [(-hit.score, hit.index) for hit in found]
        assert keys == sorted(keys)
        assert len({hit.id for hit in found}) == len(found)
        assert found.query == query
        assert all(type(hit.score) is float for hit in found)


@pytest.mark.parametrize("name", PIPELINES)
def test_fewer_hits_are_the_head_of_more(bundle: Bundle, name: str) -> None:
    everything = bundle.rank(QUERIES[4], k=100, pipeline=recipe(name))
    some: list[Any] = [0, 1, 3, np.int64(2)]
    for k in some:
        found = bundle.rank(QUERIES[4], k=k, pipeline=recipe(name))
        assert list(found) == list(everything)[:k]


@pytest.mark.parametrize("name", PIPELINES)
def test_every_way_to_rank_gives_the_same_hits(bundle: Bundle, built: "Built", name: str) -> None:
    chosen = recipe(name)
    batch = bundle.rank_batch(QUERIES, k=7, pipeline=chosen)
    listed = runtime.rank_batch(QUERIES, bundle=built.fused, k=7, pipeline=chosen)
    for query, ranking, other in zip(QUERIES, batch, listed, strict=True):
        hits = list(bundle.rank(query, k=7, pipeline=chosen))
        assert list(ranking) == list(other) == hits
        assert list(runtime.rank(query, bundle=built.fused, k=7, pipeline=chosen)) == hits
        assert bundle.rank_ids(query, k=7, pipeline=chosen) == [(h.id, h.score) for h in hits]
        explained = bundle.rank(query, k=7, pipeline=chosen, explain=True)
        assert [(h.id, h.score) for h in explained] == [(h.id, h.score) for h in hits]


@pytest.mark.parametrize("name", ABSOLUTE)
def test_score_is_the_score_of_rank_in_the_order_of_the_ids(bundle: Bundle, name: str) -> None:
    for query in QUERIES:
        hits = bundle.rank(query, k=100, pipeline=recipe(name))[::-1]
        ids = [hit.id for hit in hits]
        scores = bundle.score(query, ids=ids, pipeline=recipe(name))
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, [hit.score for hit in hits], rtol=1e-5)


@pytest.mark.parametrize("name", PIPELINES)
def test_score_is_the_score_of_rank_for_own_documents(bundle: Bundle, name: str) -> None:
    for query in QUERIES:
        hits = bundle.rank(query, OWN, k=100, pipeline=recipe(name))
        scores = bundle.score(query, OWN, pipeline=recipe(name))
        assert sorted(hit.index for hit in hits) == list(range(len(OWN)))
        assert [hit.score for hit in hits] == [scores[hit.index] for hit in hits]


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("documents", [None, OWN, ["nothing alike", ""]])
def test_parts_of_explanations_add_up(
    bundle: Bundle, name: str, documents: list[str] | None
) -> None:
    for query in QUERIES:
        for hit in bundle.rank(query, documents, k=5, pipeline=recipe(name), explain=True):
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
            check_parts(hit.explanation)
            if documents is None:
                assert bundle.explain(query, hit.id, pipeline=recipe(name)) == hit.explanation


@pytest.mark.parametrize("name", PIPELINES)
def test_a_document_that_was_not_found_is_explained_too(bundle: Bundle, name: str) -> None:
    check_parts(bundle.explain("knead dough", "blank", pipeline=recipe(name)))
    found = bundle.explain("knead dough", "blank", pipeline="bm25")
    assert (found.value, found.parts) == (0.0, ())
    ranks = str(bundle.explain("knead dough", "blank", pipeline="rrf"))
    assert "bm25: rank 2" in ranks  # behind the one that was found, and not first of one


@pytest.mark.parametrize(
    ("name", "instead"), [("encode", r"encode_query\(texts\)"), ("search", r"rank\(query\)")]
)
def test_names_of_other_packages_say_what_to_type(bundle: Bundle, name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=instead):
        getattr(bundle, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        bundle.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_notebooks_show_what_there_is(bundle: Bundle) -> None:
    shown = bundle._repr_html_()
    assert "42 documents" in shown
    assert "bm25_pieces (bm25)" in shown
    explanation = bundle.explain("knead <b>", "bread")
    assert repr(explanation) == str(explanation)
    assert explanation._repr_html_().startswith("<pre>")


def test_it_says_what_it_is(bundle: Bundle) -> None:
    assert len(bundle) == 42
    assert "42 documents, rankers bm25, bm25_words" in repr(bundle)


def test_a_pipeline_is_given_by_name_as_stages_or_as_their_json(bundle: Bundle) -> None:
    given: list[Any] = [Retrieve("bm25", 5), Rescore("bm25"), Fuse("rrf", ["bm25"], [1]), Keep(3)]  # type: ignore[arg-type]
    plain = [each if isinstance(each, dict) else Pipeline((each,)).to_json()[0] for each in given]
    hits = bundle.rank(QUERIES[4], pipeline=plain).hits
    assert len(hits) == 3
    for same in (given, tuple(given), [*given[:2], *plain[2:]], Pipeline(given), Pipeline(plain)):  # type: ignore[arg-type]
        assert bundle.rank(QUERIES[4], pipeline=same).hits == hits
        assert [name for name, _ in bundle.rank_ids(QUERIES[4], pipeline=same)] == [
            h.id for h in hits
        ]
    wrongs: list[Any] = [given[0], ["bm25"], {"stage": "keep"}, 7, Pipeline(given[0])]
    for wrong in wrongs:
        with pytest.raises(InputError, match=r"not a pipeline: pipeline.* must be a (list|s)"):
            bundle.rank(QUERIES[4], pipeline=wrong)


# --------------------------------------------------------------------------------- own documents


def test_own_documents_may_be_texts_or_objects(bundle: Bundle) -> None:
    documents: list[Any] = [
        "Nothing of the kind.",
        {"text": "Knead the dough."},
        {"id": "mine", "title": "Knead", "text": "the dough", "price": 3},
        {"id": 7, "text": "dough", "title": None},
        {"id": None, "text": "sour milk"},
    ]
    found = bundle.rank("knead dough", documents, pipeline="bm25")
    assert {hit.index: (hit.id, hit.title, hit.text) for hit in found} == {
        0: ("0", "", "Nothing of the kind."),
        1: ("1", "", "Knead the dough."),
        2: ("mine", "Knead", "the dough"),
        3: ("7", "", "dough"),
        4: ("4", "", "sour milk"),
    }
    assert found[-1].score == 0
    scores = {hit.index: hit.score for hit in found}
    assert scores[1] == scores[2] > scores[3] > 0  # a title is part of the text


def arrow(texts: list[str]) -> Any:
    return pytest.importorskip("pyarrow").array(texts)


@pytest.mark.parametrize("make", [list, tuple, iter, np.array, arrow])
def test_documents_and_queries_and_ids_may_be_any_iterable(
    bundle: Bundle, make: Callable[[list[str]], Any]
) -> None:
    wanted = [list(each) for each in bundle.rank_batch(QUERIES)]
    assert [list(each) for each in bundle.rank_batch(make(QUERIES))] == wanted
    assert len(bundle.rank("dough", make(OWN))) == len(OWN)
    assert len(bundle.score("dough", ids=make(["bread", "tea"]))) == 2


def test_objects_of_the_caller_are_not_changed(bundle: Bundle) -> None:
    documents: list[Any] = [{"id": "b", "text": "b"}, {"id": "a", "text": "water", "more": [1]}]
    stages = [{"stage": "retrieve", "ranker": "bm25", "k": 3}, {"stage": "keep", "k": 2}]
    queries, ids = ["water", "dough"], ["tea", "bread"]
    before = copy.deepcopy((documents, stages, queries, ids))
    bundle.rank("water", documents, pipeline=stages, explain=True)
    bundle.rank_batch(queries, pipeline=stages)
    bundle.score("water", ids=ids)
    assert (documents, stages, queries, ids) == before


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("query", ["", " ", "\t\n\u2003"])
def test_an_empty_query_is_refused_where_documents_are_scored(bundle: Bundle, query: str) -> None:
    for ask in (bundle.score, bundle.features, bundle.context):
        with pytest.raises(InputError, match="query is empty; give at least one word"):
            ask(query)
    with pytest.raises(InputError, match="query is empty"):
        bundle.rank(query, ["my own text"])
    with pytest.raises(InputError, match="query is empty"):
        bundle.explain(query, "bread")


@pytest.mark.parametrize("query", [None, b"dough", 7, ["dough"]])
def test_a_query_that_is_no_string_is_refused(bundle: Bundle, query: Any) -> None:
    for ask in (bundle.rank, bundle.score, bundle.rank_ids, bundle.features):
        with pytest.raises(InputError, match="query must be a string, not"):
            ask(query)
    with pytest.raises(InputError, match=r"queries\[1\] must be a string"):
        bundle.rank_batch(["dough", query])


@pytest.mark.parametrize("query", ["gnorp zork", "the of and", "!?…", "\0", "😀", "\ud800"])
@pytest.mark.parametrize("name", ["bm25", "bm25_words", "rescore", "even", "even, cut"])
def test_a_query_without_a_known_word_finds_nothing(bundle: Bundle, query: str, name: str) -> None:
    assert len(bundle.rank(query, pipeline=recipe(name))) == 0
    assert bundle.rank_ids(query, pipeline=recipe(name)) == []
    assert bundle.features(query, pipeline=recipe(name))[0] == []


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("query", ["gnorp", "the of and", "\0\0", "\ud83d", "dough \udc00\0 water"])
def test_odd_queries_are_answered_by_every_pipeline(bundle: Bundle, name: str, query: str) -> None:
    for documents in (None, OWN, ["\ud800", "\0", "dough\0water \udfff"], []):
        bundle.rank(query, documents, pipeline=recipe(name), explain=True)
    assert len(bundle.score(query, ["\ud800"], pipeline=recipe(name))) == 1
    assert len(bundle.score(query, ids=["bread"], pipeline=recipe(name))) == 1


@pytest.mark.parametrize("k", [-1, -(10**30), True, False, 1.0, 2.5, "3", None, [1]])
def test_k_that_is_no_whole_number_is_refused(bundle: Bundle, k: Any) -> None:
    for ask in (bundle.rank, bundle.rank_ids):
        with pytest.raises(InputError, match=r"k is .*; it must be a whole number from 0"):
            ask("dough", k=k)
    with pytest.raises(InputError, match=r"k is .*; it must be a whole number"):
        bundle.rank_batch(["dough"], k=k)


@pytest.mark.parametrize("name", PIPELINES)
def test_no_documents_give_an_empty_answer(bundle: Bundle, name: str) -> None:
    assert len(bundle.rank("dough", [], pipeline=recipe(name))) == 0
    assert bundle.score("dough", [], pipeline=recipe(name)).shape == (0,)
    assert bundle.score("dough", ids=[], pipeline=recipe(name)).shape == (0,)


@pytest.mark.parametrize("documents", ["a text", b"a text", {"text": "a text"}, 7, object()])
def test_documents_that_are_no_list_are_refused(bundle: Bundle, documents: Any) -> None:
    for ask in (bundle.rank, bundle.score):
        with pytest.raises(InputError, match="documents must be a list, not"):
            ask("dough", documents)


def test_a_table_is_no_list_of_texts(bundle: Bundle) -> None:
    table = pytest.importorskip("pandas").DataFrame({"text": ["dough", "bread"]})
    for ask in (lambda: bundle.rank("dough", table), lambda: bundle.rank_batch(table)):
        with pytest.raises(InputError, match="not DataFrame; give one of its columns"):
            ask()
    assert len(bundle.rank("dough", table["text"])) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        *(None, 7, b"text", ["text"], {}, {"text": None}, {"text": 7}, {"title": "t"}),
        *({"text": "t", "title": 0}, {"text": "t", "title": []}, {"text": "t", "id": 1.5}),
        {"text": "t", "id": True},
    ],
)
def test_a_document_that_is_no_text_is_refused(bundle: Bundle, wrong: Any) -> None:
    for ask in (bundle.rank, bundle.score):
        with pytest.raises(InputError, match=r"documents\[1\] must be a string, or an object"):
            ask("dough", ["right", wrong])


@pytest.mark.parametrize(
    "identity", ["nobody", "", "zzz", "caf?", "bread\ud800", 7, None, b"bread"]
)
def test_an_unknown_id_is_refused(bundle: Bundle, identity: Any) -> None:
    with pytest.raises(InputError, match="document id"):
        bundle.score("dough", ids=["bread", identity])
    with pytest.raises(InputError, match="document id"):
        bundle.explain("dough", identity)


def test_documents_or_ids_but_not_both_and_not_neither(bundle: Bundle) -> None:
    for given in ({}, {"documents": ["a"], "ids": ["bread"]}):
        with pytest.raises(InputError, match="either documents"):
            bundle.score("dough", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("pipeline", ["", "nothing", "../evil", "model1"])
def test_an_unknown_pipeline_is_refused(bundle: Bundle, pipeline: str) -> None:
    for ask in (bundle.rank, bundle.rank_ids, bundle.features):
        with pytest.raises(UnknownRankerError, match="the bundle has bm25, bm25_words"):
            ask("dough", pipeline=pipeline)


def test_a_pipeline_of_unknown_rankers_is_refused(bundle: Bundle) -> None:
    for pipeline in (Pipeline((Retrieve("x"),)), Pipeline((Retrieve("bm25"), Rescore("x")))):
        for documents in (None, OWN):
            with pytest.raises(UnknownRankerError, match="unknown ranker 'x'; the bundle has bm25"):
                bundle.rank("dough", documents, pipeline=pipeline)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["water gnorp{} ", "water", "日", "a'"])
def test_a_query_of_100_kilobytes_is_answered(bundle: Bundle, unit: str) -> None:
    def rank(query: str) -> None:
        bundle.rank(query, pipeline=recipe("even"))
        bundle.rank(query, OWN, pipeline="bm25")

    some = "".join(unit.format(at) for at in range(3_000 // len(unit.encode())))
    assert grows_linearly(rank, some)


# ------------------------------------------------------------------------------------- loading


def test_without_a_collection_the_error_says_what_to_do(built: "Built") -> None:
    exported = Bundle(built.exported)
    assert len(exported) == 0
    for ask in (
        lambda: exported.rank("dough"),
        lambda: exported.rank("dough", ["dough"]),
        lambda: exported.rank("dough", []),
        lambda: exported.score("dough", ids=["bread"]),
        lambda: exported.explain("dough", "bread"),
        lambda: exported.rank_ids("dough"),
    ):
        with pytest.raises(BundleError, match="ranklet index"):
            ask()


# ------------------------------------------------------------------------------------- threads


@pytest.mark.slow
def test_threads_get_the_same_answers(built: "Built") -> None:
    tasks = [(q, name, d) for q in QUERIES for name in PIPELINES for d in (None, OWN)]
    calm = Bundle(built.fused)
    wanted = [list(calm.rank(q, d, pipeline=recipe(n), explain=True)) for q, n, d in tasks]
    shared = Bundle(built.fused)  # everything is opened for the first time by many at once

    def ask(task: tuple[str, str, list[str] | None]) -> list[runtime.Hit]:
        query, name, documents = task
        return list(shared.rank(query, documents, pipeline=recipe(name), explain=True))

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, tasks * 2)) == wanted * 2


def test_a_ranking_says_which_words_are_stop_words_if_words_are_read(bundle: Bundle) -> None:
    ranking = bundle.rank("To be, or to BE?", pipeline="bm25")
    assert len(ranking) == 0
    assert ranking.ignored == ("To", "be", "or", "to", "BE")
    assert ranking.to_dict()["ignored"] == list(ranking.ignored)
    assert bundle.rank("to be", pipeline="bm25_pieces").ignored == ()
    assert bundle.rank("WHO", pipeline="bm25").ignored == ("WHO",)  # the collection has none
    assert bundle.rank("Öf", pipeline="bm25").ignored == ("Öf",)
    assert bundle.rank("the gnorp", pipeline="bm25").ignored == ("the",)
    assert bundle.rank("WHO", ["The WHO."], pipeline="bm25_words").ignored == ()
    assert bundle.rank("the sauce", ["the sauce"], pipeline="bm25_words").ignored == ("the",)


def test_awaited_rankings_are_the_same(bundle: Bundle) -> None:
    async def both() -> None:
        ranking = await bundle.rank_async(QUERY, k=3, pipeline="bm25", explain=True)
        assert ranking.hits == bundle.rank(QUERY, k=3, pipeline="bm25", explain=True).hits
        own = await bundle.rank_async(QUERY, ["patch the tyre", "knead the dough"])
        assert own.hits == bundle.rank(QUERY, ["patch the tyre", "knead the dough"]).hits
        batch = await bundle.rank_batch_async([QUERY, "sour milk"], k=2)
        assert [each.hits for each in batch] == [
            each.hits for each in bundle.rank_batch([QUERY, "sour milk"], k=2)
        ]

    asyncio.run(both())


def test_they_take_what_the_others_take() -> None:
    assert inspect.signature(Bundle.rank_async) == inspect.signature(Bundle.rank)
    assert inspect.signature(Bundle.rank_batch_async) == inspect.signature(Bundle.rank_batch)


def test_errors_arrive_where_the_answer_is_awaited(bundle: Bundle) -> None:
    with pytest.raises(InputError, match="query is empty"):
        asyncio.run(bundle.rank_async(" ", ["my own text"]))


def test_the_event_loop_is_free_and_the_context_is_kept() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    released = Event()

    def work(number: int) -> tuple[str, int, int]:
        assert released.wait(PATIENCE)  # which only the event loop can end
        return variable.get(), number, get_ident()

    async def main() -> tuple[str, int, int]:
        variable.set("kept")
        task = asyncio.create_task(in_thread(work)(7))
        await asyncio.sleep(0)
        released.set()
        return await task

    value, number, thread = asyncio.run(main())
    assert (value, number) == ("kept", 7)
    assert thread != get_ident()


def test_a_cancelled_task_leaves_nothing_broken(bundle: Bundle) -> None:
    begun, released, ended = Event(), Event(), Event()

    def slow(query: str) -> int:
        begun.set()
        assert released.wait(PATIENCE)
        found = len(bundle.rank(query))
        ended.set()
        return found

    async def main() -> object:
        task = asyncio.create_task(in_thread(slow)(QUERY))
        await asyncio.to_thread(begun.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        during = (await bundle.rank_async(QUERY)).hits
        released.set()
        assert await asyncio.to_thread(ended.wait, PATIENCE)
        return during, (await bundle.rank_async(QUERY)).hits

    expected = bundle.rank(QUERY).hits
    assert asyncio.run(main()) == (expected, expected)
