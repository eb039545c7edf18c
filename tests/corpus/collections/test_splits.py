from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery, Part, groups, percentile, read_split
from ranklet.runtime.ground.errors import CollectionError, InputError


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return 1,000 queries; those with an even number have a relevant document of their own."""
    queries = [Query(f"q{at}", f"number {at}") for at in range(1000)]
    qrels = {f"q{at}": {f"a{at}": 1 - at % 2, "b": 0} for at in range(1000)}
    documents = [Document(f"a{at}", "", "x") for at in range(1000)] + [Document("b", "", "y")]
    path = tmp_path_factory.mktemp("many") / "many"
    return write_collection(path, documents, {"train": (queries, qrels)})


def ids(collection: Collection, spec: str, limit: int | None = None) -> list[str]:
    return [each.id for each in read_split(collection, spec, limit=limit)]


def test_queries_without_a_relevant_document_are_left_out(many: Collection) -> None:
    found = read_split(many, "train")
    assert found[0] == JudgedQuery("q0", "number 0", {"a0": 1})
    assert [each.id for each in found] == [f"q{at}" for at in range(0, 1000, 2)]


def test_parts_of_a_split_make_up_the_whole(many: Collection) -> None:
    whole = ids(many, "train")
    for border in (1, 50, 90):
        first, rest = ids(many, f"train[:{border}%]"), ids(many, f"train[{border}%:]")
        assert not set(first) & set(rest)
        assert sorted(first + rest) == sorted(whole)
        assert 0 < len(first) < 6 * border + 10
    assert ids(many, "train[:]") == ids(many, "train[0%:100%]") == whole
    assert set(ids(many, "train[20%:40%]")) == set(ids(many, "train[:40%]")) & set(
        ids(many, "train[20%:]")
    )


def test_the_part_of_a_query_that_shares_nothing_depends_on_its_id_alone(many: Collection) -> None:
    assert all(percentile(name) < 90 for name in ids(many, "train[:90%]"))
    assert percentile("q1") == 22  # fixed for all time: what was held out stays held out
    assert 0 <= percentile("é") < 100


@st.composite
def judgements(draw: st.DrawFn) -> dict[str, dict[str, int]]:
    """Return grades of up to 60 queries, few or many of which share documents."""
    names = [f"q{at}" for at in draw(st.lists(st.integers(0, 99), max_size=60, unique=True))]
    documents = st.sampled_from([f"d{at}" for at in range(draw(st.integers(1, 120)))])
    grades = st.dictionaries(documents, st.integers(-1, 2), max_size=3)
    return {name: draw(grades) for name in names}


@given(judgements(), st.lists(st.integers(1, 99), max_size=4, unique=True), st.randoms())
def test_parts_are_disjoint_and_complete_and_share_no_relevant_document(
    qrels: dict[str, dict[str, int]], borders: list[int], random: Random
) -> None:
    edges = [0, *sorted(borders), 100]
    parts = [Part("train", *edge).among(qrels) for edge in pairwise(edges)]
    place = {name: [at for at, has in enumerate(parts) if has(name)] for name in [*qrels, "new"]}
    assert all(len(found) == 1 for found in place.values())
    of_document: dict[str, list[int]] = {}
    for name, grades in qrels.items():
        for document in (document for document, grade in grades.items() if grade > 0):
            assert of_document.setdefault(document, place[name]) == place[name]
    shuffled = dict(random.sample(list(qrels.items()), len(qrels)))
    again = [Part("train", *edge).among(shuffled) for edge in pairwise(edges)]
    assert all([at for at, has in enumerate(again) if has(name)] == place[name] for name in place)


@given(judgements())
def test_groups_are_the_connected_components(qrels: dict[str, dict[str, int]]) -> None:
    def reached(name: str) -> set[str]:
        """Walk from a query to all that share documents with it."""
        found, waiting = {name}, [name]
        while waiting:
            own = {key for key, grade in qrels[waiting.pop()].items() if grade > 0}
            for other, grades in qrels.items():
                if other not in found and any(grades.get(key, 0) > 0 for key in own):
                    found.add(other)
                    waiting.append(other)
        return found

    assert groups(qrels) == {name: min(reached(name)) for name in qrels}


def test_a_query_that_is_added_moves_nothing_unless_it_shares_a_document() -> None:
    before = {"b1": {"x": 1}, "b2": {"x": 1}, "c": {"y": 1}, "d": {"z": 0}}
    assert groups(before) == {"b1": "b1", "b2": "b1", "c": "c", "d": "d"}
    assert groups({**before, "a": {"z": 1}}) == {**groups(before), "a": "a"}
    assert groups({**before, "e": {"y": 1}}) == {**groups(before), "e": "c"}
    merged = groups({**before, "e": {"x": 1, "y": 1}})
    assert merged == {"b1": "b1", "b2": "b1", "c": "b1", "d": "d", "e": "b1"}


def shared_by(tmp_path: Path, together: int, alone: int) -> Collection:
    """Return a collection in which some queries share a document, and others share none."""
    names = [f"q{at}" for at in range(together + alone)]
    qrels = {name: {"all" if at < together else name: 1} for at, name in enumerate(names)}
    documents = [Document(name, "", "x") for name in ["all", *names]]
    split = ([Query(name, name) for name in names], qrels)
    return write_collection(tmp_path / "c", documents, {"train": split})


def test_a_part_far_from_its_share_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = shared_by(tmp_path, 300, 100)
    border = percentile("q0") + 1  # the large group is below it
    assert 45 < border < 95
    low, high = ids(collection, f"train[:{border}%]"), ids(collection, f"train[{border}%:]")
    assert len(low) + len(high) == 400
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"warning: train[{border}%:] has {len(high)} of the 400 queries of train, "
        f"{len(high) / 400:.1%}; queries that share relevant documents stay together, and the "
        "largest such group has 300"
    ]
    assert len(ids(collection, "train")) == 400
    assert capsys.readouterr().err == ""
    alone = shared_by(tmp_path / "alone", 0, 7)
    ids(alone, "train[:98%]")
    assert capsys.readouterr().err == ""


def test_a_limit_draws_some_and_keeps_their_order(many: Collection) -> None:
    whole, some = ids(many, "train"), ids(many, "train", limit=20)
    assert len(some) == 20
    assert [name for name in whole if name in some] == some
    assert ids(many, "train", limit=20) == some
    assert ids(many, "train", limit=10**6) == whole


def test_an_unknown_split_and_an_empty_part_are_refused(many: Collection, tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="no split 'dev'; there are train"):
        read_split(many, "dev")
    with pytest.raises(InputError, match="such as train"):
        read_split(many, "train[50%:50%]")
    nothing = ([Query("q", "x")], {"q": {"a": 0}})
    empty = write_collection(tmp_path / "c", [Document("a", "", "")], {"train": nothing})
    with pytest.raises(InputError, match="no query with a relevant document"):
        read_split(empty, "train")
