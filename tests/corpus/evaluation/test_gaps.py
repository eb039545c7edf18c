"""What people look for and do not find, by the words that their hits lack."""

from pathlib import Path
from typing import Any

import pytest

import ranklet
from ranklet.corpus.evaluation.gaps import find_gaps
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import Bundle, InputError, load

TEXTS = {
    "dough": ("Dough", "Let the dough rest for an hour."),
    "yeast": ("Yeast", "Fresh yeast keeps for two weeks."),
    "rye": ("Rye", "Rye needs a sour starter."),
    "oven": ("Ovens", "Hot stones bake the bread."),
    "mill": ("Mills", "Stone mills grind grain."),
}
QUERIES = [
    "gluten free bread", "gluten in rye", "Gluten free bread", "gluten free bread",
    "zebras", "the zebra sleeps", "mills for grain", "milling rye", "yeest", "of the",
]  # fmt: skip


def built(folder: Path, **options: Any) -> Bundle:
    rows = [
        {"id": name, "title": title, "text": text, "author": "Ada Loaf", "open": name != "rye"}
        for name, (title, text) in TEXTS.items()
    ]
    return load(ranklet.build(rows, folder / "a.ranklet", language="en", **options))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return built(tmp_path_factory.mktemp("gaps"))


def test_a_word_is_missing_if_no_hit_has_it_in_any_form_nor_in_a_field(bundle: Bundle) -> None:
    hits = bundle.rank("dough rye", k=2)

    def missing(query: str, bundle: Bundle = bundle) -> dict[str, int | None]:
        return {each.typed: each.documents for each in bundle.missing_words(query, hits)}

    assert missing("the Doughs by loaf and rested") == {}
    assert missing("Gluten bakes Baking in rye") == {"Gluten": 0, "bakes": 1}
    assert {each.typed for each in bundle.missing_words("dough", [])} == {"dough"}
    assert missing("starter stones") == {"stones": 2}
    assert (
        bundle.missing_words("bakes", hits)[0].lemma == bundle.missing_words("baking", [])[0].lemma
    )
    # Whoever does not see a document does not learn that it has a word.
    seen = bundle.only({"open": True})
    assert missing("starter gluten", seen) == {"gluten": 0}
    none = seen.missing_words("sour", [])
    assert [each.documents for each in none] == [0]


def test_queries_are_grouped_by_what_no_document_has_the_most_frequent_first(
    bundle: Bundle,
) -> None:
    found = find_gaps(bundle, QUERIES, below=1)
    assert (found.queries, found.unanswered) == (10, 10)
    assert [(each.word, each.documents, each.count) for each in found.gaps] == [
        ("gluten", 0, 4), ("", None, 3), ("zebras", 0, 2), ("yeest", 0, 1)
    ]  # fmt: skip
    first = found.gaps[0].queries
    assert (first[0].query, first[0].count) == ("gluten free bread", 2)
    assert sum(each.count for gap in found.gaps for each in gap.queries) == 10


def test_only_queries_below_the_bound_are_listed(bundle: Bundle) -> None:
    likely = {each: bundle.rank(each, relevance=True).answerable for each in set(QUERIES)}
    found = find_gaps(bundle, QUERIES, below=0.5)
    listed = {each.query: each.answerable for gap in found.gaps for each in gap.queries}
    assert listed == {each: p for each, p in likely.items() if p is not None and p < 0.5}
    assert "zebras" in listed
    assert "mills for grain" not in listed


def test_what_was_added_is_no_gap(tmp_path: Path) -> None:
    live = ranklet.open(built(tmp_path), writable=True)
    assert isinstance(live, WritableBundle)
    live.add([{"id": "zoo", "title": "Zoo", "text": "A zebra sleeps."}])
    live.delete(["yeast"])
    grown = load(tmp_path / "a.ranklet")
    hits = grown.rank("rye", k=1)
    assert [(each.typed, each.documents) for each in grown.missing_words("zebras yeast", hits)] == [
        ("zebras", 1), ("yeast", 0)
    ]  # fmt: skip


@pytest.mark.parametrize("below", [0, -1, 1.5, "x", float("nan"), True])
def test_a_bound_that_is_no_probability_is_refused(bundle: Bundle, below: Any) -> None:
    with pytest.raises(InputError, match="below must be above 0 and up to 1"):
        find_gaps(bundle, ["a"], below=below)


@pytest.mark.parametrize("queries", ["a text", ["a", ""], ["a", 3], 7])
def test_what_is_no_list_of_queries_is_refused(bundle: Bundle, queries: Any) -> None:
    with pytest.raises(InputError, match="queries"):
        find_gaps(bundle, queries)
