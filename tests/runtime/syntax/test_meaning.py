from pathlib import Path

import numpy as np
import pytest

from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime import Query, load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.syntax.meaning import MOST_WORDS, meaning
from ranklet.workflows.build import build

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
        ('"zork"', set()),
        ('"doughs"', {"wheat"}),
        ('bread -"kneads" -"zork"', {"art", "state", "knead", "mice"}),
        ('dough -"kneads"', {"knead"}),
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


@pytest.mark.parametrize(
    ("typed", "wanted", "corrected"),
    [
        ('"bread risze"', {"knead"}, {"risze": "rise"}),
        ("bread -whaet -micce", {"art", "state", "knead"}, {"whaet": "wheat", "micce": "mice"}),
        ('bread -"let the braed"', {"art", "state", "mice"}, {"braed": "bread"}),
        ("bread knea*", {"art", "state", "knead", "mice", "wheat"}, {}),
        ("bread -whea*", {"art", "state", "knead", "mice"}, {}),
    ],
)
def test_words_of_phrases_and_excluded_ones_are_corrected_and_prefixes_are_not(
    bundle: Bundle, typed: str, wanted: set[str], corrected: dict[str, str]
) -> None:
    ranking = bundle.rank(Query.parse(typed, typos=True))
    assert {hit.id for hit in ranking} == wanted
    assert ranking.corrections == corrected


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
    other = load(build(rows, tmp_path / "b.ranklet", source=options))
    assert other.passages > 2
    assert found(other, "bread -gnorp") == {"short"}
    assert found(other, '"a gnorp eats" bread') == {"long"}


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


def test_documents_that_there_is_no_time_to_read_are_no_hits(bundle: Bundle) -> None:
    ranking = bundle.rank(Query.parse('"bread rise"'), budget_ms=0)
    assert {hit.id for hit in ranking} <= {"knead"}
    assert bundle.rank(Query.parse('"the bread" -"let the bread"'), budget_ms=0).budget_spent
    documents = bundle.files.need_documents()
    bare = meaning(Query.parse('"bread" -"rise"'), documents, deadline=Deadline(0))  # no index
    assert bare.phrases is not None
    assert bare.phrases.fitting(np.arange(5)).tolist() == [True]  # the first one is read


LANGUAGES = {
    "fr": ["L'été est chaud", "Il a été chaud", "Un soir d'été chaud"],
    "it": ["dell'arte italiana", "arte italiana", "l'arte italiana"],
    "ca": ["l'home gran", "home gran", "d'home gran"],
    "en": ["The python's skin is dry", "A python skin bag", "Pythons shed their skin"],
    "tr": ["İstanbul'da yaşam", "İstanbul yaşam"],
    "ar": ["المدرسة الكبيرة", "مدرسة كبيرة"],
    "zh": ["北京大学图书馆", "大学北京", "图书 大学"],
    "ja": ["パソコンを買う", "コンを買う", "鉛筆を買う"],
    "hi": ["हिन्दी भाषा", "हिंदी में", "फ़िल्म देखो"],
    "de": ["Über den Fluss", "Unter der Brücke"],
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bundle]:
    folder = tmp_path_factory.mktemp("languages")
    return {
        code: load(
            build(
                [{"id": str(at), "text": text} for at, text in enumerate(texts, 1)],
                folder / code, language=code, normaliser="none",
            )
        )
        for code, texts in LANGUAGES.items()
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "typed", "wanted"),
    [
        # What is elided before a phrase is no part of it, and anything else that is left out is.
        ("fr", '"d\'été"', "3"),
        ("fr", 'chaud -"l\'été"', "23"),
        ("fr", '"été chaud"', "23"),
        ("fr", "été", "123"),
        ("it", '"dell\'arte"', "1"),
        ("it", 'italiana -"l\'arte"', "12"),
        ("it", '"arte italiana"', "123"),
        ("ca", 'gran -"l\'home gran"', "23"),
        ("en", '"python\'s skin"', "1"),
        ("en", '"python skin"', "2"),
        ("en", 'skin -"python\'s skin"', "23"),
        ("tr", 'yaşam -"istanbul yaşam"', "1"),
        ("ar", 'كبيرة -"مدرسة كبيرة"', "1"),
        # A run without spaces is a phrase where it is several words.
        ("zh", "图书馆*", "13"),
        ("zh", "大学 -图书馆", "23"),
        ("zh", "大学 -图书馆*", "23"),
        ("zh", "大学 -图书", "2"),
        ("ja", "パソコン*", "12"),
        ("ja", "買う -パソコン", "23"),
        ("hi", "हिन्*", "12"),
        ("de", "uber*", "1"),
    ],
)
def test_signs_mean_the_same_in_all_languages(
    bundles: dict[str, Bundle], language: str, typed: str, wanted: str
) -> None:
    assert found(bundles[language], typed) == set(wanted)
