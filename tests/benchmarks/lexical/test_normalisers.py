import pytest
from benchmarks.lexical.normalisers import MEASURES, measured

from ranklet.training.data.collection import Document
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import analyse
from ranklet.training.indexing.language.options import NORMALISERS, TextOptions

TEXTS = {
    "mice": "Mice and cheese.",
    "connect": "They are connected by a bridge.",
    "dough": "A dough rests.",
}


@pytest.mark.slow
def test_each_normaliser_finds_what_it_joins() -> None:
    documents = [Document(each, "", text) for each, text in TEXTS.items()]
    analysed = analyse(documents, ["words"], options=TextOptions(normaliser="none"))
    queries = [
        JudgedQuery("1", "mouse", {"mice": 1}),
        JudgedQuery("2", "connection", {"connect": 1}),
        JudgedQuery("3", "dough", {"dough": 1}),
    ]
    sizes, found = measured(analysed, queries)
    assert list(sizes) == list(NORMALISERS)
    assert sizes["none"] < sizes["lemma"] < sizes["lemma+stem"]
    wanted = {"lemma": [1, 0, 1], "lemma+stem": [1, 1, 1], "stem": [0, 1, 1], "none": [0, 0, 1]}
    for name in MEASURES:
        assert {method: list(values) for method, values in found[name].items()} == wanted
