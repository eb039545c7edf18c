"""Updates, joins and filters that cannot be used. What was there before stays as it is."""

from operator import attrgetter
from pathlib import Path

from tests.journeys.bad_inputs.files import Maker, file
from tests.journeys.bad_inputs.running import Case, Place, Response, cli

from ranklet.workflows.build import build

OUT, FUSED, RANKERS = attrgetter("out"), attrgetter("bundle"), attrgetter("rankers")
ROWS = [
    {"id": "1", "title": "Bread", "text": "Knead the dough.", "year": 2021, "tags": ["slow"]},
    {"id": "2", "title": "Tyre", "text": "Patch the tyre.", "year": 2019, "tags": []},
]
OTHERS = [{"id": "3", "text": "Wash the windows.", "year": 2020, "tags": []}]
HALF = '{"id": "3", "text": "x"}\n{"id": "4", "te'


def mine(place: Place) -> Path:
    """Return the bundle of `ROWS`, which must stay as it is."""
    return place.folder / "mine.ranklet"


def other(place: Place) -> Path:
    return Path(build(OTHERS, place.folder / "other.ranklet"))


def nothing(place: Place) -> Path:
    return place.folder / "nothing"


def german(place: Place) -> Path:
    return Path(build(OTHERS, place.folder / "german.ranklet", language="de"))


def untitled(place: Place) -> Path:
    return Path(build(OTHERS, place.folder / "untitled.ranklet", titles=False))


def boosted(place: Place) -> Path:
    return Path(build(OTHERS, place.folder / "boosted.ranklet", title_boost=3))


def _kept(case: Case) -> Case:
    """Return a case that makes a bundle first, and checks afterwards that it is unchanged."""

    def run(place: Place) -> Response:
        build(ROWS, mine(place))
        before = _contents(mine(place))
        response = case.run(place)
        assert _contents(mine(place)) == before, f"{case.name}: the bundle was changed"
        return response

    return Case(case.area, case.name, case.status, case.words, run)


def _contents(path: Path) -> dict[str, bytes]:
    files = [each for each in sorted(path.rglob("*")) if each.is_file()]
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in files}


def updating(name: str, words: str, *arguments: str | Maker, status: int = 1) -> Case:
    return _kept(cli("updates", name, status, words, "update", mine, *arguments))


def merging(name: str, words: str, *arguments: str | Maker, status: int = 1) -> Case:
    return _kept(cli("joins", name, status, words, "merge", mine, *arguments))


def filtering(name: str, words: str, where: str) -> Case:
    return _kept(cli("filters", name, 1, words, "rank", mine, "dough", "--where", where))


UPDATES = [
    updating("nothing is changed", "nothing to change"),
    updating("all documents are deleted", "no document remains", "--delete", "1", "2"),
    updating("the added file is missing", "does not exist", "--add", nothing),
    updating("the list of ids is missing", "cannot be read", "--delete-file", nothing),
    updating("the target of an update exists", "--force", "--delete", "1",
             "-o", file("out", "precious")),
    cli("updates", "the bundle is missing", 1, "no bundle at", "update", nothing, "--delete", "1"),
]  # fmt: skip

JOINS = [
    merging("one bundle is joined", "two bundles or more", "-o", OUT),
    merging("the target of a join exists", "--force", other, "-o", file("out", "precious")),
    merging("a document is in both", "--prefer", mine, "-o", OUT),
    merging("the rankers differ", "different rankers", FUSED, "-o", OUT),
    merging("the languages differ", "differ in their languages", german, "-o", OUT),
    merging("only one ranks titles", "ranks titles", untitled, "-o", OUT),
]  # fmt: skip

FILTERS = [
    filtering("the filter is not JSON", "--where is not JSON", "{year: 2021}"),
    filtering("the filter is a list", "must be a JSON object", '["year", 2021]'),
    filtering("the number is not finite", "NaN is not JSON", '{"year": NaN}'),
]
