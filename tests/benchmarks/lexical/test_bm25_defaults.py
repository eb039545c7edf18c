"""Each variant ranks by its own settings."""

import pytest
from benchmarks.lexical.bm25_defaults import DEFAULT, VARIANTS, values_of

from ranklet.training.data.collection import Document
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection, analyse
from ranklet.training.indexing.language.options import TextOptions

DOCUMENTS = [
    Document("title", "cheese", "A long text on bread and on dough and on ovens."),
    Document("text", "bread", "Cheese, cheese and cheese again, with wine, grapes and nuts."),
    Document("connect", "", "They are connected by a bridge."),
]


def analysed(normaliser: str) -> AnalysedCollection:
    return analyse(DOCUMENTS, ["lemmas"], options=TextOptions(normaliser=normaliser))


@pytest.mark.slow
def test_each_variant_ranks_by_its_own_settings() -> None:
    queries = [
        JudgedQuery("1", "cheese", {"title": 1}),
        JudgedQuery("2", "connection", {"connect": 1}),
    ]
    found = values_of(analysed, {"dev": queries}, VARIANTS)["dev"]
    assert set(found) == {each.name for each in (DEFAULT, *VARIANTS)}
    assert found[DEFAULT.name][1] == 0
    assert found["`--normaliser stem`"][1] == 1
    assert found[DEFAULT.name][0] < 1
    assert found["`--title-boost 3.0`"][0] == 1
