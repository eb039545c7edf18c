"""A shop's everyday queries in languages that write several nouns as one word."""

from pathlib import Path

import pytest
from tests.range_server import RangeServer

import ranklet
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import load
from ranklet.runtime.answers.explanation import branches
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles import files as bundle_files
from ranklet.runtime.object_storage import remote_zip
from ranklet.workflows.build import build

SHOPS = {
    "de": {
        "topf": "Kochtopf aus Edelstahl", "mäher": "Rasenmäher mit Akku",
        "Töpfe": "Kochtopf aus Edelstahl", "schlauch": "Gartenschlauch 20 m",
        "fahrrad": "Kinderfahrrad rot",
        "Kanne": "Gießkanne 5 l",
        "wäsche": "Bettwäsche aus Leinen", "kocher": "Wasserkocher 1,7 l",
    },
    "nl": {
        "maaier": "Grasmaaier met accu", "slang": "Tuinslang 20 m", "fiets": "Kinderfiets rood",
        "koker": "Waterkoker 1,7 l", "potten": "Theepotten in een set", "goed": "Beddengoed",
    },
    "da": {
        "klipper": "Plæneklipper med batteri", "slange": "Haveslange 20 m", "cykel": "Børnecykel",
        "kedel": "Elkedel 1,7 l", "gryder": "Stegegryde",
    },
    "fi": {
        "leikkuri": "Akkukäyttöinen ruohonleikkuri", "letku": "Puutarhaletku 20 m",
        "pyörä": "Lastenpyörä punainen", "keitin": "Vedenkeitin 1,7 l", "pannut": "Paistinpannu",
        "vaatteet": "Pellavaiset vuodevaatteet", "kellot": "Rannekello",
    },
}  # fmt: skip
KETTLES = [
    {"id": "bag", "title": "Wasserabweisender Rucksack", "text": "", "preis": 9.0, "art": "Tasche"},
    {"id": "dear", "title": "Wasserkocher weiß", "text": "", "preis": 40.0, "art": "Küche"},
    {"id": "cheap", "title": "Wasserkocher 1,7 l", "text": "", "preis": 20.0, "art": "Küche"},
]


@pytest.fixture(params=SHOPS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Bundle, dict[str, str]]:
    """A shop with one product per query, all of which no title has as a word."""
    wanted = SHOPS[request.param]
    records = [{"id": title, "text": title} for title in dict.fromkeys(wanted.values())]
    return load(build(records, tmp_path / "a.ranklet", language=request.param)), wanted


def test_an_unknown_word_finds_what_ends_with_it(shop: tuple[Bundle, dict[str, str]]) -> None:
    bundle, wanted = shop
    for query, title in wanted.items():
        for options in ({}, {"typos": True}, {"synonyms": False}, {"sort": ["score"]}):
            found = bundle.rank(query, **options)
            assert found[0].id == title, (query, options)
            assert found.suggestion is None
            assert not found.corrections
        explained = bundle.rank(query, explain=True)[0].explanation
        assert explained is not None
        labels = [each.label for each in branches(explained)]
        assert any(label.endswith(f", which ends with {query}") for label in labels)
        assert bundle.marks(query, bundle.rank(query)[0])


def test_a_known_word_finds_nothing_more(tmp_path: Path) -> None:
    records = [{"id": "a", "text": "Topf"}, {"id": "b", "text": "Kochtopf"}]
    bundle = load(build(records, tmp_path / "a.ranklet", language="de"))
    assert [hit.id for hit in bundle.rank("topf")] == ["a"]
    assert not len(bundle.rank("opf"))  # too short to say what it is
    english = [{"id": "a", "text": "a cookpot"}]
    assert not len(load(build(english, tmp_path / "b.ranklet", language="en")).rank("opot"))


def test_compounds_are_found_among_additions(tmp_path: Path) -> None:
    build([{"id": "a", "text": "Topf"}], tmp_path / "a.ranklet", language="de")
    live = ranklet.open(tmp_path / "a.ranklet", writable=True)
    assert isinstance(live, WritableBundle)
    live.add([{"id": "b", "text": "Rasenmäher"}, {"id": "c", "text": "Milchtopf"}])
    assert [hit.id for hit in live.rank("mäher")] == ["b"]
    assert [hit.id for hit in live.rank("topf")] == ["a"]
    live.delete(["a"])  # and now no document has the word
    assert [hit.id for hit in live.rank("topf")] == ["c"]
    assert [hit.id for hit in live.rank("topf", typos=True)] == ["c"]


def test_a_beginning_is_no_match_of_a_word_that_a_document_has(tmp_path: Path) -> None:
    bundle = load(build(KETTLES, tmp_path / "a.ranklet", language="de"))
    by_price = bundle.rank("wasserkocher", sort=["preis"], facets=["art"])
    assert [hit.id for hit in by_price] == ["cheap", "dear"]
    assert by_price.total == 2
    assert [(each.value, each.count) for each in by_price.facets["art"]] == [("Küche", 2)]
    assert len(bundle.rank("wasserkocher")) == 3  # where it helps to rank
    counted = bundle.rank("wasserkocher", facets=["art"])
    assert (len(counted), counted.total) == (2, 2)
    unknown = bundle.rank("wasserwaage", sort=["preis"])
    assert [hit.id for hit in unknown] == ["bag", "cheap", "dear"]


def test_an_explanation_says_word_and_beginning(tmp_path: Path) -> None:
    bundle = load(build(KETTLES, tmp_path / "a.ranklet", language="de"))
    kettle, *_, bag = (hit.explanation for hit in bundle.rank("Wasserkocher", explain=True))
    assert kettle is not None
    assert bag is not None
    (word,) = kettle.parts
    assert word.label == "wasserkocher"
    assert [part.label for part in word.parts] == ["word", "beginning"]
    assert word.value == pytest.approx(sum(part.value for part in word.parts))
    assert [part.label for part in bag.parts] == ["wasserkocher, by its beginning"]


def test_compounds_are_found_in_object_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))
    for module in (bundle_files, remote_zip):  # tiny arrays are read by parts, too
        monkeypatch.setattr(module, "SMALL", 0)
    records = [{"id": title, "text": title} for title in set(SHOPS["de"].values())]
    build(records, tmp_path / "a.zip", language="de")
    with RangeServer({"/a.zip": (tmp_path / "a.zip").read_bytes()}) as server:
        bundle = load(server.address("/a.zip"))
        assert {query: bundle.rank(query)[0].id for query in SHOPS["de"]} == SHOPS["de"]
