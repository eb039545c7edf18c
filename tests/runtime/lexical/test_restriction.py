from pathlib import Path

import pytest

from ranklet.export.build import build
from ranklet.runtime import Query, load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError
from ranklet.runtime.lexical.restriction import MOST_WORDS, one_edit
from ranklet.training.data.sources.options import SourceOptions

TEXTS = {
    "art": "The state of the art of baking bread.",
    "state": "In this state art is free, and bread is cheap.",
    "knead": "Knead the dough gently, and let the bread rise.",
    "wheat": "Wheat doughs need water. The baker kneads them.",
    "mice": "Mice eat bread crumbs.",
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    rows = [{"id": each, "text": text} for each, text in TEXTS.items()]
    return load(build(rows, tmp_path_factory.mktemp("syntax") / "b.ranklet"))


def found(bundle: Bundle, typed: str, *, typos: bool = False) -> set[str]:
    return {hit.id for hit in bundle.rank(Query.parse(typed, typos=typos))}


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("bread", {"art", "state", "knead", "mice"}),
        ('"state of the art"', {"art"}),
        ('"state art"', {"state"}),
        ('"bread rise"', {"knead"}),
        ('"rise bread"', set()),
        ('"the bread" dough', {"knead"}),
        ('"gently wheat"', set()),  # from one document to the next
        ('"zork bread"', set()),
        ('"bread"', {"art", "state", "knead", "mice"}),
        ("bread -art", {"knead", "mice"}),
        ("bread -mouse", {"art", "state", "knead"}),
        ("dough -kneading", set()),
        ("bread -zork", {"art", "state", "knead", "mice"}),
        ('bread -"state of the art"', {"state", "knead", "mice"}),
        ("bread -sta*", {"knead", "mice"}),
        ("dou*", {"knead", "wheat"}),
        ("zo*", set()),
        ('"state art" -free', set()),
    ],
)
def test_syntax_restricts_and_widens(bundle: Bundle, typed: str, wanted: set[str]) -> None:
    assert found(bundle, typed) == wanted
    ids = [each for each, _ in bundle.rank_ids(Query.parse(typed))]
    assert set(ids) == wanted


def test_without_the_syntax_its_signs_are_nothing(bundle: Bundle) -> None:
    plain = [(hit.id, hit.score) for hit in bundle.rank("bread art rise")]
    assert [(hit.id, hit.score) for hit in bundle.rank('bread -art "rise"')] == plain


def test_a_query_without_signs_ranks_as_its_text(bundle: Bundle) -> None:
    assert bundle.rank(Query("knead bread")).hits == bundle.rank("knead bread").hits


def test_allowed_documents_keep_their_scores(bundle: Bundle) -> None:
    every = {hit.id: hit.score for hit in bundle.rank("bread state art")}
    assert {hit.id: hit.score for hit in bundle.rank(Query.parse("bread state art -free"))} == {
        each: score for each, score in every.items() if each != "state"
    }


def test_unknown_words_are_corrected_and_the_answer_says_so(bundle: Bundle) -> None:
    ranking = bundle.rank(Query.parse("Braed, and kneed waatter", typos=True))
    wanted = {"braed": "bread", "kneed": "knead"}  # waatter differs from water in two letters
    assert ranking.corrections == ranking.to_dict()["corrections"] == wanted
    assert ranking.query == "bread, and knead waatter"
    assert {hit.id for hit in ranking} == set(TEXTS)


def test_known_and_short_words_are_not_corrected(bundle: Bundle) -> None:
    assert bundle.rank(Query("bread mce dough", typos=True)).corrections == {}
    assert "corrections" not in bundle.rank("braed").to_dict()


def test_explanations_name_the_words_that_a_prefix_stands_for(bundle: Bundle) -> None:
    hits = bundle.rank(Query.parse("dou*"), explain=True)
    parts = [hit.explanation.parts for hit in hits if hit.explanation is not None]
    assert [[part.label for part in each] for each in parts] == [["dough"], ["dough"]]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ('"to be or not to be"', "only stop words"),
        ("bread -the", "is a stop word"),
        ("bread -state-art", "several words"),
        ("bread state-ar*", "not the beginning of one word"),
    ],
)
def test_what_no_index_can_answer_is_refused(bundle: Bundle, typed: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bundle.rank(Query.parse(typed))


def test_own_documents_need_a_plain_text(bundle: Bundle) -> None:
    with pytest.raises(InputError, match="pass the query as a text"):
        bundle.rank(Query("bread"), ["bread"])


def test_filters_and_syntax_restrict_together(tmp_path: Path) -> None:
    rows = [{"id": each, "text": text, "open": each != "art"} for each, text in TEXTS.items()]
    other = load(build(rows, tmp_path / "b.ranklet"))
    query = Query.parse("bread -mouse")
    assert {hit.id for hit in other.rank(query)} == {"art", "state", "knead"}
    assert {hit.id for hit in other.rank(query, where={"open": True})} == {"state", "knead"}
    part = other.only({"open": True})
    assert {hit.id for hit in part.rank(query)} == {"state", "knead"}
    with pytest.raises(InputError, match="would reveal words"):
        part.rank(Query("braed", typos=True))


def test_a_prefix_of_too_many_words_is_refused(tmp_path: Path) -> None:
    text = " ".join(f"zo{number}k" for number in range(MOST_WORDS + 1))
    other = load(build([text], tmp_path / "b.ranklet"))
    with pytest.raises(
        InputError, match=f"stands for more than {MOST_WORDS} words; type more letters"
    ):
        other.rank(Query.parse("zo*"))


def test_a_document_is_excluded_with_all_its_passages(tmp_path: Path) -> None:
    long = "Bread is old. " * 6 + "A gnorp eats it. " * 6
    options = SourceOptions(passage_words=20, overlap_words=0)
    rows = [{"id": "long", "text": long}, {"id": "short", "text": "Bread."}]
    other = load(build(rows, tmp_path / "b.ranklet", options=options))
    assert other.passages > 2
    assert found(other, "bread -gnorp") == {"short"}
    assert found(other, '"a gnorp eats" bread') == {"long"}


@pytest.mark.parametrize(
    ("language", "text", "typed", "missing"),
    [
        ("th", "กรุงเทพเป็นเมืองหลวง", '"เมืองหลวง"', '"หลวงเมือง"'),
        ("ja", "東京は日本の首都である", '"日本の首都"', '"首都の日本"'),
        ("fr", "Les journaux de la capitale", '"journaux de la capitale"', '"journal de la"'),
    ],
)
def test_phrases_of_other_languages(
    tmp_path: Path, language: str, text: str, typed: str, missing: str
) -> None:
    other = load(build([{"id": "it", "text": text}], tmp_path / "b.ranklet", language=language))
    assert found(other, typed) == {"it"}
    assert found(other, missing) == set()


@pytest.mark.parametrize(
    ("word", "variant"),
    [
        ("bread", "bred"),
        ("bread", "braed"),
        ("bread", "bready"),
        ("bread", "broad"),
        ("хлеб", "хлев"),
    ],
)
def test_one_edit_is_one_letter(word: str, variant: str) -> None:
    assert variant in set(one_edit(word))
    assert word not in set(one_edit(word))


def test_two_edits_are_too_many() -> None:
    assert "beard" not in set(one_edit("bread"))


def test_a_prefix_names_no_word_of_a_hidden_document(tmp_path: Path) -> None:
    rows = [{"id": each, "text": text, "open": True} for each, text in TEXTS.items()]
    hidden = " ".join(f"knzo{number}k" for number in range(MOST_WORDS))
    rows.append({"id": "hidden", "text": f"Knead {hidden}.", "open": False})
    other = load(build(rows, tmp_path / "b.ranklet"))
    query = Query.parse("bread kn*")
    with pytest.raises(InputError, match="stands for more than"):  # knead and its forms, too
        other.rank(query)
    ranking = other.only({"open": True}).rank(query, explain=True)
    assert {hit.id for hit in ranking} == {"art", "state", "knead", "mice", "wheat"}
    assert "knzo" not in ranking.to_json()
