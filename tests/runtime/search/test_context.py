"""A context has parts of documents, no character twice, in their order, within its budget."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ranklet
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import Bundle, ContextSpan
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.verification import verify
from ranklet.runtime.text.sentences import count_words
from ranklet.runtime.text.tokenizing import encode
from ranklet.workflows.build import build

_TEXT = "river boat ferry water bridge town market bread dough oven salt yeast flour the a of"
WORDS = _TEXT.split()
QUERIES = ("river ferry", "bread dough yeast", "market town", "salt", "bridge of water")


def text(random: Random) -> str:
    """Return sentences, some of which repeat, between all kinds of white space."""
    sentences = [
        " ".join(random.choices(WORDS, k=random.randint(1, 9))).capitalize()
        + random.choice(".!?。")
        for _ in range(random.randint(1, 30))
    ]
    sentences += random.sample(sentences, len(sentences) // 3)
    spaces = [" ", "  ", "\n", "\n\n", "\r\n\r\n ", "\t"]
    return "".join(part for each in sentences for part in (each, random.choice(spaces)))


def documents(random: Random, prefix: str, count: int) -> list[dict[str, Any]]:
    """Return documents, each with a field to filter by, and one in three with a title."""
    return [
        {
            "id": f"{prefix}{at}",
            "title": "" if at % 3 else f"Title {at}",
            "text": text(random),
            "page": at + 1,
            "open": random.random() < 0.7,
        }
        for at in range(count)
    ]


def check(spans: Sequence[ContextSpan], texts: dict[str, str]) -> None:
    """Check that spans are parts of documents, in their order, and share no character."""
    of_each: dict[str, list[ContextSpan]] = {}
    for span in spans:
        assert span.start is not None
        assert span.end is not None
        assert texts[span.id][span.start : span.end] == span.text != ""
        of_each.setdefault(span.id, []).append(span)
    assert [each.id for each in spans] == [name for name, own in of_each.items() for _ in own]
    for own in of_each.values():
        assert all((one.end or 0) < (other.start or 0) for one, other in pairwise(own))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_contexts_and_spans_of_random_documents(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    words = random.choice([0, 6, 12, 30])
    split = SourceOptions(passage_words=words, overlap_words=random.randint(0, words // 2))
    given = documents(random, "a", 12)
    path = Path(build(given, tmp_path / "b.ranklet", source=split))
    texts = {each["id"]: each["text"] for each in given}
    opened = {each["id"] for each in given if each["open"]}
    for step in range(3):
        bundle = ranklet.load(path)
        for name, whole in texts.items():
            assert whole.startswith(bundle.document(name).text)
            assert not whole[len(bundle.document(name).text) :].strip()
        for only, allowed in ((bundle, set(texts)), (bundle.only({"open": True}), opened)):
            for query in QUERIES:
                ask(only, query, texts, allowed, random)
        with WritableBundle(path) as live:
            new = documents(random, f"n{step}-", 3)
            gone = random.sample(sorted(texts), 2)
            live.add([*new, {**new[0], "id": sorted(texts.keys() - set(gone))[0]}])
            live.delete(gone)
        replaced = {**new[0], "id": sorted(texts.keys() - set(gone))[0]}
        texts = {name: each for name, each in texts.items() if name not in gone}
        texts |= {each["id"]: each["text"] for each in [*new, replaced]}
        opened = {each for each in opened if each in texts} - {replaced["id"]}
        opened |= {each["id"] for each in [*new, replaced] if each["open"]}
    list(verify(path))


def ask(
    bundle: Bundle, query: str, texts: dict[str, str], allowed: set[str], random: Random
) -> None:
    """Check what a bundle answers to a query in several ways."""
    for around in (None, "neighbours", "section"):
        tokens = random.choice([1, 5, 17, 40, 100, 1000])
        found = bundle.context(query, tokens, context=around, unique=random.random() < 0.5)
        check(found.spans, texts)
        assert {each.id for each in found} <= allowed
        assert found.tokens == count_words(found.text) <= tokens == found.budget
        assert found.spans or found.left_out or not bundle.rank(query)
        for hit in bundle.rank(query, passages=random.choice([None, 1, 3]), context=around):
            assert hit.id in allowed
            assert texts[hit.id][hit.start : hit.end] == hit.text
            check(hit.spans, texts)
            if hit.spans:
                assert {each.id for each in hit.spans} == {hit.id}
                assert any(each.start <= hit.start and hit.end <= each.end for each in hit.spans)  # type: ignore[operator]


BREAD = """# The bread book

Intro of the book. It is about flour.

## Dough

Knead the dough well for ten minutes. Let the dough rest in a warm place. Cover the dough.

### Sour dough

Sour dough has wild yeast. Feed the starter with flour and water.
It is ripe when it bubbles and smells of yogurt and of fruit.

## Baking

Bake the bread in a hot oven. A stone keeps the heat. Steam makes a crust on the bread.
"""


@pytest.fixture(scope="module")
def bread(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("bread")
    (folder / "docs").mkdir()
    (folder / "docs" / "bread.md").write_text(BREAD)
    (folder / "docs" / "other.txt").write_text("The ferry waits at night.")
    source = SourceOptions(passage_words=16, overlap_words=0)
    return build(folder / "docs", folder / "b.ranklet", source=source)


def test_passages_know_their_headings_and_a_section_is_what_stands_under_them(
    bread: Bundle,
) -> None:
    hit = bread.rank("wild yeast starter", k=1, context="section")[0]
    assert hit.heading == ("Dough", "Sour dough")
    (span,) = hit.spans
    assert span.source == "The bread book › Dough › Sour dough"
    assert span.text == BREAD[BREAD.index("Sour dough\n") : BREAD.index("\n\n## Baking")]
    assert hit.to_dict()["heading"] == ["Dough", "Sour dough"]
    assert hit.to_dict()["spans"] == [span.to_dict()]
    whole = bread.rank("ferry", k=1, passages=2)[0]
    assert (whole.heading, whole.location, whole.start, whole.end) == ((), None, 0, 25)
    assert [each.text for each in whole.spans] == [whole.text]
    assert "heading" not in whole.to_dict()


def test_a_prompt_has_numbers_and_sources(bread: Bundle) -> None:
    found = bread.context("ferry", tokens=50)
    assert found.text == "[1] other\nThe ferry waits at night."
    assert (found.tokens, found.budget, found.left_out) == (7, 50, ())
    assert {"id": "other.txt", "start": 0, "end": 25}.items() <= found.to_dict()["spans"][0].items()
    assert ranklet.context("ferry", bundle=bread, tokens=50).spans == found.spans


def test_a_budget_that_is_too_small_says_so(bread: Bundle) -> None:
    found = bread.context("ferry at night", tokens=3)
    assert (found.spans, found.text, found.tokens) == ((), "", 0)
    assert found.left_out == ("no sentence of the best passage fits into 3 tokens; allow more",)
    assert bread.context("zzz").left_out == ()


def test_near_duplicates_are_folded_and_passages_of_a_document_are_limited(
    bread: Bundle, tmp_path: Path
) -> None:
    twice = ["The ferry waits at night.", "The ferry waits at night!", "The ferry sinks."]
    bundle = build(twice, tmp_path / "b.ranklet")
    assert len(bundle.context("ferry")) == 2
    assert len(bundle.context("ferry", unique=False)) == 3
    one = bread.context("dough bread yeast flour", passages=1)
    assert len(one.text) < len(bread.context("dough bread yeast flour").text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tokens": 0}, "tokens is 0; it must be a whole number from 1"),
        ({"context": "chapter"}, "context"),
        ({"passages": 0}, "passages is 0; it must be a whole number from 1"),
        ({"synonyms": 1}, "synonyms is 1"),
    ],
)
def test_what_cannot_be_used_is_refused(bread: Bundle, options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        bread.context("dough", **options)


def test_texts_of_ones_own_have_no_neighbours(bread: Bundle) -> None:
    with pytest.raises(InputError, match="context: it joins passages that a bundle has"):
        bread.rank("dough", ["the dough"], context="section")


def test_bundles_of_whole_documents_keep_their_bytes(tmp_path: Path) -> None:
    whole = build(["One text.", "Another text."], tmp_path / "b.ranklet")
    assert not [name for name in whole.manifest.files if "locations" in name]


def test_tokens_are_those_of_the_bundles_tokenizer(bundle: Bundle) -> None:
    tokenizer = bundle.files.tokenizer()
    for tokens in (60, 200, 400):
        found = bundle.context("knead the dough, feed the starter", tokens)
        assert found.tokens == len(encode(tokenizer, found.text).ids) <= tokens
        assert found.tokens != count_words(found.text)


@pytest.mark.parametrize("mark", ["- ", "\n"])
def test_a_list_gives_its_best_entries_first(mark: str, tmp_path: Path) -> None:
    entries = [f"{name}: how the {name} is set" for name in ("port", "host", "user", "path")]
    entries.insert(2, "timeout: how long a request may take until it fails")
    listed = "\n".join(f"{mark}{each}" for each in entries)
    bundle = build(
        [{"id": "options", "text": listed}, {"id": "b", "text": "Something else entirely."}],
        tmp_path / "b",
    )
    (span,) = bundle.context("how long may a request take", tokens=16)
    assert span.text.removeprefix(mark) == entries[2]


def test_entries_that_touch_are_joined_in_their_order(tmp_path: Path) -> None:
    listed = "Tools:\n1. hammer for nails\n2. axe\n3. saw for boards, and for green boards\n4. file"
    bundle = build([{"id": "shed", "text": listed}], tmp_path / "b")
    spans = bundle.context("boards nails", tokens=16)
    assert [each.text[:2] for each in spans] == ["1.", "3."]
    check(spans, {"shed": listed})
