from pathlib import Path

import pytest

from ranklet.runtime.errors import CollectionError, InputError
from ranklet.training.data.collection import Collection, Document, Query, write_collection
from ranklet.training.data.splits import JudgedQuery, percentile, read_split


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return a collection of 1,000 queries; those with an even number have a relevant document."""
    queries = [Query(f"q{at}", f"number {at}") for at in range(1000)]
    qrels = {f"q{at}": {"a": 1 - at % 2, "b": 0} for at in range(1000)}
    documents = [Document("a", "", "x"), Document("b", "", "y")]
    path = tmp_path_factory.mktemp("many") / "many"
    return write_collection(path, documents, {"train": (queries, qrels)})


def ids(collection: Collection, spec: str, limit: int | None = None, seed: int = 0) -> list[str]:
    return [each.id for each in read_split(collection, spec, limit=limit, seed=seed)]


def test_queries_without_a_relevant_document_are_left_out(many: Collection) -> None:
    found = read_split(many, "train")
    assert found[0] == JudgedQuery("q0", "number 0", {"a": 1})
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


def test_which_part_a_query_is_in_depends_on_its_id_alone(many: Collection) -> None:
    assert all(percentile(name) < 90 for name in ids(many, "train[:90%]"))
    assert percentile("q1") == 22  # fixed for all time: what was held out stays held out
    assert 0 <= percentile("é") < 100


def test_a_limit_draws_some_and_keeps_their_order(many: Collection) -> None:
    whole, some = ids(many, "train"), ids(many, "train", limit=20)
    assert len(some) == 20
    assert [name for name in whole if name in some] == some
    assert ids(many, "train", limit=20) == some != ids(many, "train", limit=20, seed=1)
    assert ids(many, "train", limit=10**6) == whole


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(many: Collection, limit: int) -> None:
    with pytest.raises(InputError, match="use a limit above 0"):
        read_split(many, "train", limit=limit)


@pytest.mark.parametrize(
    "spec",
    ["", "train[", "train[90]", "train[90%]", "train[:1000%]", "a/b", "train[-5%:]", "train "],
)
def test_what_is_no_split_is_refused(many: Collection, spec: str) -> None:
    with pytest.raises(InputError, match=r"a percentage of it such as train\[:90%\]"):
        read_split(many, spec)


def test_an_unknown_split_and_an_empty_part_are_refused(many: Collection, tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="no split 'dev'; there are train"):
        read_split(many, "dev")
    with pytest.raises(InputError, match="such as train"):
        read_split(many, "train[50%:50%]")
    nothing = ([Query("q", "x")], {"q": {"a": 0}})
    empty = write_collection(tmp_path / "c", [Document("a", "", "")], {"train": nothing})
    with pytest.raises(InputError, match="no query with a relevant document"):
        read_split(empty, "train")
