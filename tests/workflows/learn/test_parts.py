"""Judged queries are cut into parts that share no relevant document."""

import pytest

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.ground.errors import InputError
from ranklet.workflows.learn.parts import (
    FEW,
    LEAST_RANKED,
    RANKED,
    WEIGHED,
    WEIGHING,
    count_passes,
    cut_parts,
    fit_parts,
)


def queries(count: int, prefix: str = "q") -> list[JudgedQuery]:
    return [
        JudgedQuery(f"{prefix}{n}", f"text {n}", {f"{prefix}d{n // 2}": 1}) for n in range(count)
    ]


def documents(part: list[JudgedQuery]) -> set[str]:
    return {name for query in part for name in query.relevant}


def test_no_relevant_document_is_in_two_parts() -> None:
    parts = cut_parts({"train": queries(1000)})
    found = [documents(part) for part in parts[:4]]
    assert all(found)
    assert sum(map(len, found)) == len(set.union(*found)) == 500
    assert parts.seen == 0


def test_a_query_is_in_the_same_part_in_every_order() -> None:
    forward, backward = cut_parts({"a": queries(1000)}), cut_parts({"a": queries(1000)[::-1]})
    assert set(map(str, forward.report)) == set(map(str, backward.report))


def test_splits_that_are_named_are_used() -> None:
    parts = cut_parts({"train": queries(400), "dev": queries(60, "v"), "test": queries(50, "t")})
    assert parts.choose == queries(60, "v")
    assert parts.report == queries(50, "t")
    assert len(parts.learn) + len(parts.tune) == 400


def test_queries_without_an_answer_are_in_no_part_and_are_kept() -> None:
    none = [each._replace(relevant={}) for each in queries(30, "n")]
    splits = {"train": queries(400), "dev": none}
    parts, without = cut_parts(splits), cut_parts({"train": queries(400)})
    assert parts[:5] == without[:5]
    assert parts.unanswered == none


def test_queries_that_share_answers_with_those_that_were_learned_from_are_counted() -> None:
    parts = cut_parts({"train": queries(400), "test": queries(50)})
    assert parts.seen == 50


def test_few_queries_train_nothing() -> None:
    parts = cut_parts({"marks": queries(FEW - 20)})
    assert parts.few
    assert not parts.tune
    assert len(parts.choose) + len(parts.report) == FEW - 20


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(InputError, match=r"30 judged queries are too few.*ranklet judge"):
        cut_parts({"marks": queries(30)})


def test_two_queries_with_one_id_are_two_queries() -> None:
    other = [each._replace(text=f"other {each.text}") for each in queries(300)]
    parts = cut_parts({"a": queries(300), "b": other})
    assert len({query.id for part in parts[:4] for query in part}) == 600


def test_a_query_of_two_splits_has_the_judgements_of_both() -> None:
    first = queries(60)
    second = [each._replace(relevant={f"more{each.id}": 1}) for each in first]
    for name in ("b", "dev"):
        others = {"test": queries(50, "t")} if name == "dev" else {}
        parts = cut_parts({"a": first, name: second, **others})
        found = [*parts.choose, *parts.report] if name == "b" else parts.choose
        assert len({each.id for each in found}) == len(found) == 60
        assert all(len(each.relevant) == 2 for each in found)


def test_fewer_queries_are_ranked_where_there_is_little_time() -> None:
    parts = cut_parts({"train": queries(4000)})
    choose, report = parts.sizes[2:]
    assert fit_parts(parts, count_passes(parts)) == (parts, WEIGHING)
    passes = RANKED * (choose + report)
    assert fit_parts(parts, passes + 7 * WEIGHED) == (parts, 7)
    half, more = fit_parts(parts, passes / 2)
    assert (*half.sizes, more) == (*parts.sizes[:2], choose // 2, report // 2, 0)
    assert fit_parts(parts, -1)[0].sizes[2:] == (LEAST_RANKED, LEAST_RANKED)
    assert fit_parts(cut_parts({"marks": queries(FEW - 20)}), 0)[0].choose
