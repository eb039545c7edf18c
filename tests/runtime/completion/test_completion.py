"""Completions and suggestions against plain Python, over additions, deletions and filters."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any, NamedTuple

import pytest
from tests.damage import change_array, put
from tests.metadata_rows import allows
from tests.range_server import RangeServer

import ranklet
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime import BundleError, Completion, InputError, Query, load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.text.words import stop_words
from ranklet.workflows.build import build

Row = dict[str, Any]
WHERES = [None, None, {"author": "bab cx"}, {"tags": {"has any": ["abc", "bxa"]}}]


class Seen(NamedTuple):
    """What a caller sees of a collection, and all that is stored."""

    stored: list[Row]
    visible: list[Row]


def word(random: Random, least: int = 3, most: int = 10) -> str:
    return "".join(random.choices("abcx", k=random.randint(least, most)))


def rows(random: Random, words: list[str], names: Iterable[str]) -> list[Row]:
    made = []
    for name in names:
        row: Row = {"id": name, "text": " ".join(random.choices(words, k=random.randint(1, 6)))}
        row["title"] = " ".join(random.choices(words[:30], k=random.choice([0, 1, 1, 2]))).title()
        row["author"] = random.choice(["bab cx", "Bab CX", "axa", "cab", "xbcab"])
        row["tags"] = random.choices(["abc", "abx", "bxa", "cab"], k=random.randint(0, 3))
        made.append(row)
    return made


def near(typed: str) -> set[str]:
    """Return what differs in one letter or in none from a text."""
    cuts = [(typed[:at], typed[at:]) for at in range(len(typed) + 1)]
    made = {typed} | {a + b[1:] for a, b in cuts if b}
    made |= {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    made |= {a + x + b for a, b in cuts for x in ascii_lowercase}
    return made | {a + x + b[1:] for a, b in cuts if b for x in ascii_lowercase}


def edits(one: str, other: str) -> int:
    """Return the distance of two words, by optimal string alignment."""
    table: list[list[int]] = [[*range(len(other) + 1)]]
    for row, letter in enumerate(one, 1):
        here = [row]
        for at, wanted in enumerate(other, 1):
            least = min(
                table[-1][at] + 1, here[-1] + 1, table[-1][at - 1] + (letter != wanted)
            )  # fmt: skip
            if row > 1 and at > 1 and letter == other[at - 2] and one[row - 2] == wanted:
                least = min(least, table[-2][at - 2] + 1)
            here.append(least)
        table.append(here)
    return table[-1][-1]


def list_words(row: Row) -> list[str]:
    return f"{row['title']} {row['text']}".lower().split()


def completions(seen: Seen, typed: str, k: int) -> list[Completion]:
    """Return what `Bundle.complete` should."""
    whole, last = typed.lower(), typed.lower().split(" ")[-1]
    for wrong in (False, True):
        wholes = near(whole) if wrong and len(whole) > 3 else {whole}
        lasts = near(last) if wrong and len(last) > 3 else {last}

        def best(counts: Counter[str], name: str, begins: set[str]) -> list[Completion]:
            meant = [each for each in counts if each and _begins(each.lower(), begins)]
            meant.sort(key=lambda each: (-counts[each], len(each), each.lower(), each))
            return [Completion(each, name) for each in meant[:k]]

        titles = best(Counter(row["title"] for row in seen.visible), "title", wholes)
        authors = best(Counter(row["author"] for row in seen.visible), "author", wholes)
        tags = best(Counter(t for row in seen.visible for t in set(row["tags"])), "tags", wholes)
        frequent = Counter(each for row in seen.stored for each in set(list_words(row)))
        there = {each for row in seen.visible for each in list_words(row)} - {last}
        own = [each for each in there if _begins(each, lasts)]
        own.sort(key=lambda each: (-frequent[each], each))
        head = typed[: len(typed) - len(last)]
        texts = [Completion(head + each) for each in own[:k]]
        values = filter(None, chain.from_iterable(zip_longest(authors, tags)))
        found: dict[str, Completion] = {}
        for one in filter(None, chain.from_iterable(zip_longest(titles, values, texts))):
            found.setdefault(one.text.lower(), one)
        if found:
            return list(found.values())[:k]
    return []


def _begins(text: str, beginnings: set[str]) -> bool:
    return any(text[:length] in beginnings for length in range(1, len(text) + 1))


def suggested(seen: Seen, query: str) -> str | None:
    """Return what `Ranking.suggestion` should be."""
    counts = Counter(chain.from_iterable(map(list_words, seen.stored)))
    there = set(chain.from_iterable(map(list_words, seen.visible)))
    better = []
    for each in query.split():
        best = each
        if len(each) > 3 and each not in there:
            meant = [other for other in there if edits(each, other) == 1]
            if not meant and len(each) > 7:
                alike = [other for other in there if other[0] == each[0]]
                meant = [other for other in alike if edits(each, other) == 2]
            best = min(meant, key=lambda other: (-counts[other], other), default=each)
        better.append(best)
    changed, asked = " ".join(better), set(query.split()) - stop_words()
    likely = any({*better} - stop_words() <= {*list_words(each)} for each in seen.visible)
    few = 2 * len(asked & there) <= len(asked)
    return None if changed == query or (few and not likely) else changed


def changed(random: Random, text: str) -> str:
    at, letter = random.randrange(len(text)), random.choice("abcx")
    return random.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at] + letter + text[at + 1 :],
        ]
    )


def seen_of(bundle: Bundle, every: dict[str, Row], wheres: Iterable[Any]) -> Seen:
    """Return what is stored in a bundle, deleted documents too, and what filters allow."""
    whole, stored, alive = bundle.documents, list[Row](), list[Row]()
    gone = getattr(whole, "deleted", None)
    for number in range(len(whole)):
        name, title, text = whole.record(number)
        fields = bundle._search.columns.of(number)  # type: ignore[attr-defined]
        stored.append({"title": title, "text": text, "tags": [], **fields})
        if gone is None or not gone[number]:
            alive.append(every[name])
    wanted = [where for where in wheres if where is not None]
    return Seen(stored, [row for row in alive if all(allows(each, row) for each in wanted)])


@pytest.fixture(params=range(3))
def collection(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, ...]:
    random = Random(request.param)
    words = [word(random) for _ in range(80)]
    first = rows(random, words, [f"d{number}" for number in range(60)])
    path = Path(build(first, tmp_path / "b.ranklet"))
    every = {row["id"]: row for row in first}
    if request.param:  # the first has no additions
        live: Any = ranklet.open(path, writable=True)
        more = rows(
            random, words + [word(random) for _ in range(20)], [f"d{n}" for n in range(50, 75)]
        )
        live.add(more)
        live.delete([f"d{number}" for number in range(0, 60, 7)])
        every |= {row["id"]: row for row in more}
    return random, load(path), every, words


def test_completions_and_suggestions_are_those_of_plain_python(
    collection: tuple[Random, Bundle, dict[str, Row], list[str]],
) -> None:
    random, bundle, every, words = collection
    for only, where in zip(WHERES, WHERES[::-1], strict=True):
        part = bundle if only is None else bundle.only(only)
        seen, narrow = (seen_of(bundle, every, each) for each in ([only], [only, where]))
        texts = [*words, *(row["title"] for row in every.values() if row["title"]), "bab cx"]
        for _ in range(25):
            typed = random.choice(texts)[: random.randint(1, 8)]
            typed = changed(random, typed) if random.random() < 0.5 else typed
            typed, k = (
                f"{random.choice(['', '', 'ab '])}{typed}".strip(),
                random.choice([1, 3, 5, 40]),
            )
            if typed:
                assert part.complete(typed, k, where=where) == completions(narrow, typed, k), typed
            query = " ".join(
                changed(random, each) if random.random() < 0.5 else each
                for each in random.choices(words, k=2)
            )
            assert part.rank(query).suggestion == suggested(seen, query), query


def test_words_are_shown_as_they_are_written(tmp_path: Path) -> None:
    texts = ["Gießkanne und Rasenmäher", "Die Gießkanne ist grün", "eine grüne Rasenfläche"]
    german = load(build([{"text": each} for each in texts], tmp_path / "a", language="de"))
    assert [each.text for each in german.complete("giess", 3)] == ["Gießkanne"]
    assert [each.text for each in german.complete("eine gru", 3)] == ["eine grün"]
    assert german.rank("gieskanne rasenmeher").suggestion == "Gießkanne Rasenmäher"
    french = load(build([{"text": "La Crème brûlée"}], tmp_path / "b", language="fr"))
    assert french.rank("brulees crme").suggestion == "brulees crème"


@pytest.mark.parametrize(
    "query", ["wie prüfe ich eine Signatur", "best pizza dough", "cheap flights to rome"]
)
def test_nothing_is_suggested_for_another_subject(tmp_path: Path, query: str) -> None:
    texts = ["git prune removes the line of a home signature", "best plan, rough home, in plans"]
    bundle = load(build([{"text": each} for each in texts], tmp_path / "a", language="en"))
    assert bundle.rank(query).suggestion is None
    assert bundle.rank("remuves the linne").suggestion == "removes the line"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    made = [
        {"id": "1", "title": "Knead the dough", "text": "Kneading bread takes minutes."},
        {"id": "2", "title": "Sourdough", "text": "A starter of flour and water. Crème brûlée."},
        {"id": "3", "title": "Mice", "text": "Kneel and knead. Constantinople is a city."},
        {"id": "4", "title": "SOURDOUGH", "text": "Bread, bread and bread."},
    ]
    return load(build(made, tmp_path_factory.mktemp("completion") / "b.ranklet"))


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("", []),
        ("  ", []),
        ("knead  THE do", ["Knead the dough"]),
        ("so", ["SOURDOUGH"]),  # two spellings of one title
        ("the creme br", ["the creme bread", "the creme brulee"]),
        ("konst", ["constantinople"]),
        ("kon", []),  # too short for a typing error
        ("mice ", ["Mice"]),
        ("the", []),  # a stop word
    ],
)
def test_completions(bundle: Bundle, typed: str, wanted: list[str]) -> None:
    assert [each.text for each in bundle.complete(typed)] == wanted


SPELLED = {
    "O'Reilly books": ["o’r", "O'R", "oʼreilly b"],
    "L’été": ["l'e", "l’é", "L`e"],
    "Co\u00adoperation": ["cooper", "co\u00adop"],
    "\u200bZero waste": ["zero w"],
    "Straße 7": ["strasse", "straß", "STRASS"],
    "Ｆｕｌｌ ｗｉｄｔｈ": ["full w", "ｆｕｌｌ"],
    "ﾊﾟｿｺﾝ教室": ["パソコ", "ﾊﾟｿ"],
    "ﻛﺘﺎﺏ": ["كتا", "کت"],
    "हिन्दी कविता": ["हिंदी", "हिन्दी क", "हिन्"],
    "¿Cómo hacer pan?": ["como ha", "¿como", "¿Cómo h"],
    "«Guerre et paix»": ["guerre et", "«gu"],
    '"The Hobbit" and more': ["the hobbit a", '"the h'],
    "(500) Days": ["500 d", "(500"],
    "🎉 Party": ["party", "🎉", "🎉 pa"],
    "Rock & Roll": ["rock & r", "rock r"],
    "C++ Primer": ["c++", "C+", "c++ pr"],
    ".NET runtime": [".net", "net r"],
    "łódź": ["lodz", "Łó"],
    "!!!": ["!!"],
}


RYE = ("Rye’s bread", "RYE'S BREAD", "(Rye's) bread")


@pytest.fixture(scope="module")
def spelled(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    made = [{"title": each, "text": "x", "genre": each} for each in SPELLED]
    made += [{"title": each, "text": "x", "genre": "C Programming"} for each in RYE]
    return load(build(made, tmp_path_factory.mktemp("spelled") / "b.ranklet"))


@pytest.mark.parametrize(
    ("typed", "title"), [(each, title) for title, every in SPELLED.items() for each in every]
)
def test_titles_and_values_are_found_as_a_search_spells_them(
    spelled: Bundle, typed: str, title: str
) -> None:
    assert title in [each.text for each in spelled.complete(typed, 20)]


def test_signs_tell_names_apart_and_spellings_of_one_are_offered_once(spelled: Bundle) -> None:
    assert [each.text for each in spelled.complete("c++")] == ["C++ Primer"]
    assert len({each.text for each in spelled.complete("rye's")} & set(RYE)) == 1


@pytest.mark.parametrize(
    ("query", "options", "wanted"),
    [
        ("the kneeding of bred", {}, "the kneading of bread"),
        ('"knead the dugh" -braed Kne*', {"syntax": True}, '"knead the dough" -bread Kne*'),
        ("konstantinopel", {}, None),  # the first letter of a word with two edits is right
        ("constantinpel", {}, "constantinople"),
        ("knead the", {}, None),
        ("kneads", {}, None),  # another form of a known word
        ("mic", {}, None),
        ("zork", {}, None),
        (
            "dughq breadq flourq waterq kneadq",
            {},
            None,
        ),  # one is unknown, and no text has the others
        ("doughq breadq flourq waterq kneadq miceq", {}, None),  # too many to be mistyped
        ("doughq " + "bread " * 200, {}, None),
        ("the kneeding", {"typos": True}, None),  # it is searched
    ],
)
def test_suggestions(
    bundle: Bundle, query: str, options: dict[str, Any], wanted: str | None
) -> None:
    ranking = bundle.rank(query, **options)
    assert ranking.suggestion == wanted
    assert ranking.to_dict().get("suggestion") == wanted


def test_two_letters_are_corrected_in_long_words(bundle: Bundle) -> None:
    assert bundle.rank("constantinpel", typos=True).corrections == {
        "constantinpel": "constantinople"
    }
    assert bundle.rank(Query("kneeding"), pipeline="bm25").suggestion == "kneading"
    assert bundle.rank("kneeding", ["knead"]).suggestion is None  # texts of one's own


def test_a_title_counts_once_for_all_passages_of_a_document(tmp_path: Path) -> None:
    made: list[Row] = [
        {"id": "1", "title": "Long one", "text": "word. " * 2000, "page": 1},
        {"id": "2", "title": "Long two", "text": "short"},
        {"id": "3", "title": "Long two", "text": "short"},
    ]
    options = SourceOptions(passage_words=100)
    split = load(build(made, tmp_path / "b.ranklet", source=options))
    assert split.passages > 3
    assert [each.text for each in split.complete("lo", where={"page": {"missing": True}})] == [
        "Long two",
        "long",
    ]
    assert [each.text for each in split.complete("lo", 2)] == ["Long two", "long"]


def test_completions_on_object_storage_are_those_on_disk(tmp_path: Path) -> None:
    zipped = Path(
        build(
            [{"id": "1", "title": "Sourdough", "text": "Kneading, constantinople."}],
            tmp_path / "b.zip",
        )
    )
    bundle = load(zipped)
    with RangeServer({"/b.zip": zipped.read_bytes()}) as server:
        far = Bundle(server.address())
        for typed in ("so", "kne", "konst"):
            assert far.complete(typed) == bundle.complete(typed)
        assert far.rank("kneeding").suggestion == "kneading"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": 3}, "prefix must be a string"),
        ({"prefix": "a", "k": -1}, "k must be a whole number"),
        ({"prefix": "a", "where": {"zork": 1}}, "zork"),
    ],
)
def test_what_cannot_be_completed(bundle: Bundle, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bundle.complete(**options)


@pytest.mark.parametrize("number", [3, (1 << 16) - 1])
def test_damage_that_a_completion_finds_is_one_error(tmp_path: Path, number: int) -> None:
    build([{"text": "dough", "tenant": each} for each in "aab"], tmp_path / "b")
    damaged = change_array(tmp_path / "b", "rankers/bm25/documents.npy", put(number, slice(None)))
    part = load(damaged).only({"tenant": "a"})
    for ask in (part.complete, lambda _: part.rank("doush").suggestion):
        with pytest.raises(BundleError, match="ranklet verify"):
            ask("dou")
