"""Search in languages other than English, from texts to hits."""

import sys
from pathlib import Path

import pytest

from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.syntax.query_syntax import Query
from ranklet.workflows.build import build

TEXTS = {
    "de": {
        "haus": "Die alten Häuser der Stadt haben rote Dächer und kleine Fenster.",
        "brot": "Der Bäcker knetet den Teig und backt jeden Morgen frisches Brot.",
        "wald": "Im Wald singen die Vögel, und der Fluss ist im Winter gefroren.",
    },
    "fr": {
        "presse": "Les journaux du matin racontent l'histoire de la capitale.",
        "chevaux": "Les chevaux galopent dans les prés au bord de la rivière.",
        "pain": "Le boulanger pétrit la pâte et vend du pain aux voisins.",
    },
    "es": {
        "luz": "Las luces de la ciudad brillan durante las noches de verano.",
        "pez": "Los peces nadan en el río y los niños juegan en la orilla.",
        "pan": "El panadero amasa la harina y vende panes calientes.",
    },
    "ru": {
        "gorod": "В старых городах много красивых домов и узких улиц.",
        "hleb": "Пекарь каждое утро печёт свежий хлеб для соседей.",
        "les": "Зимой в лесах тихо, и реки покрыты льдом.",
    },
    "ja": {
        "tokyo": "東京は日本の首都であり、多くの人が地下鉄で通勤する。",
        "neko": "猫は一日の大半を眠って過ごす動物である。",
        "pan": "パン屋は毎朝、小麦粉をこねてパンを焼く。",
    },
    "zh": {
        "beijing": "北京是中国的首都，地铁每天运送很多乘客。",
        "mao": "猫每天睡觉的时间很长。",
        "mianbao": "面包师每天早上揉面团，烤新鲜的面包。",
    },
    "th": {
        "bangkok": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
        "maew": "แมวนอนหลับเกือบทั้งวัน",
        "khanompang": "คนทำขนมปังนวดแป้งทุกเช้า",
    },
}
# Inflections, some of which no document has, and words within texts without spaces.
QUERIES = [
    ("de", "Haus", "haus"),
    ("de", "Hauses", "haus"),
    ("de", "der Vogel singt", "wald"),
    ("de", "gebackenes Brot", "brot"),
    ("fr", "un journal", "presse"),
    ("fr", "le cheval", "chevaux"),
    ("fr", "histoire", "presse"),
    ("es", "luz", "luz"),
    ("es", "el pez", "pez"),
    ("es", "pan", "pan"),
    ("ru", "город", "gorod"),
    ("ru", "хлебом", "hleb"),
    ("ru", "лес", "les"),
    ("ja", "日本の首都", "tokyo"),
    ("ja", "猫", "neko"),
    ("ja", "ﾊﾟﾝ", "pan"),
    ("zh", "地铁", "beijing"),
    ("zh", "猫", "mao"),
    ("th", "ประเทศไทย", "bangkok"),
    ("th", "แมว", "maew"),
]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bundle]:
    """Return a bundle per language."""
    folder = tmp_path_factory.mktemp("languages")

    def built(language: str) -> Bundle:
        rows = [{"id": each, "text": text} for each, text in TEXTS[language].items()]
        return load(build(rows, folder / f"{language}.ranklet", language=language))

    return {language: built(language) for language in TEXTS}


@pytest.mark.slow
@pytest.mark.parametrize(("language", "query", "wanted"), QUERIES)
def test_inflected_queries_find_their_document(
    bundles: dict[str, Bundle], language: str, query: str, wanted: str
) -> None:
    bundle = bundles[language]
    assert bundle.manifest.languages == (language,)
    assert bundle.rank(query)[0].id == wanted
    texts = [{"id": each, "text": text} for each, text in TEXTS[language].items()]
    hits = bundle.rank(query, texts, explain=True)  # the caller's are read in the same way
    assert hits[0].id == wanted
    assert hits[0].score > 0
    assert bundle.highlight(hits[0])


@pytest.mark.slow
def test_languages_are_found_out_for_each_document(tmp_path: Path) -> None:
    rows = [
        {"id": f"{language}-{each}", "text": text}
        for language in ("de", "fr", "th")
        for each, text in TEXTS[language].items()
    ]
    bundle = load(build(rows, tmp_path / "auto.ranklet", language="auto"))
    assert set(bundle.manifest.languages) == {"de", "fr", "th"}
    for language, query, wanted in QUERIES:
        if language in ("de", "fr", "th"):
            assert bundle.rank(query)[0].id == f"{language}-{wanted}"


@pytest.mark.slow
def test_a_compound_is_found_by_its_beginning_and_is_shown(tmp_path: Path) -> None:
    texts = ["Der Brunnen ist alt.", "Ein Brunnen im Dorf.", "Das Dorf hat Brunnen.", "Am Dorf."]
    row = "Wir malten einen Brunnenrand."
    bundle = load(build([*texts, row], tmp_path / "b", language="de"))
    hits = bundle.rank("Brunnen", k=5, explain=True)
    compound = next(hit for hit in hits if hit.text == row)
    assert len(hits) == 4
    assert compound.score < hits[0].score
    marked = [compound.text[b - 1 : e - 1] for b, e, _ in bundle.highlight(compound)]
    assert marked == ["Brunnenrand"]
    assert compound.explanation is not None
    assert [part.label for part in compound.explanation.parts] == ["brunnen, by its beginning"]
    best = bundle.rank("Brunnenrand", k=5, explain=True)[0]
    assert best.text == row
    assert best.explanation is not None
    (word,) = best.explanation.parts
    amounts = {part.label: part.value for part in word.parts}
    assert word.label == "brunnenrand"
    assert set(amounts) == {"word", "beginning"}
    assert amounts["word"] > amounts["beginning"]
    assert bundle.rank("Brunnenrands")[0].text == row
    assert bundle.rank("Brunnenrand", ["ein Haus", "ein Brunnenrand"])[0].index == 1


@pytest.mark.slow
def test_words_of_scripts_without_spaces_are_found_and_shown(tmp_path: Path) -> None:
    pytest.importorskip("fugashi")
    bundle = load(build(list(TEXTS["ja"].values()), tmp_path / "b", language="ja"))
    hit = bundle.rank("日本の首都", explain=True)[0]
    assert [hit.text[b - 1 : e - 1] for b, e, _ in bundle.highlight(hit)] == ["日本", "首都"]
    assert not bundle.rank("の")  # a particle
    assert bundle.rank(Query.parse('"日本の首都"'))[0].id == hit.id


@pytest.mark.slow
def test_serving_needs_no_segmenter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fugashi")
    path = Path(build(list(TEXTS["ja"].values()), tmp_path / "b", language="ja"))
    monkeypatch.setitem(sys.modules, "fugashi", None)
    assert load(path).rank("地下鉄")[0].text == TEXTS["ja"]["tokyo"]
