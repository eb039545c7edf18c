"""Queries made of documents: what they are, what is hidden, and that draws repeat."""

from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.judgements.weak import (
    LEAST_QUERIES,
    MOST_SHARED,
    SENTENCES,
    TITLES,
    WEAK,
    WeakPairs,
    make_pairs,
    without_heading,
)
from ranklet.runtime.errors import InputError

BODY = "Wipe the chain, then put one drop of oil on each of its links and wait."


def numbered(count: int) -> list[Document]:
    """Return documents of three sentences, each with words of its own."""
    return [
        Document(
            f"d{n}",
            f"Title number{n}",
            f"First{n} sentence of this text. Second{n} sentence is here too. {BODY}",
        )
        for n in range(count)
    ]


def pairs_of(made: WeakPairs) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        each.query.id: (each.query.text, each.relevant) for each in (*made.learn, *made.held_out)
    }


def texts_of(made: WeakPairs) -> dict[str, Document]:
    return {each.id: each for each in made.documents}


def test_a_title_finds_its_document_which_no_longer_has_it() -> None:
    documents = numbered(40)
    documents[3] = documents[3]._replace(text=f"# Title, number3!\n\n{BODY}")
    made = make_pairs(documents, TITLES, most=1000)
    assert pairs_of(made)["d3"] == ("Title number3", ("d3",))
    assert texts_of(made)["d3"] == Document("d3", "", BODY)
    assert all(each.title == "" for each in made.documents)
    assert "number" not in " ".join(each.text for each in made.documents)
    assert str(made) == "titles as queries: 36 to learn from and 4 held out; 40 documents"


def test_a_title_of_several_documents_is_one_query_for_all_of_them() -> None:
    same = [Document(f"s{n}", " The  SAME ", f"Text{n}. {BODY}") for n in (2, 1)]
    found = pairs_of(make_pairs([*numbered(20), *same], TITLES, most=1000))
    assert found["s1"] == ("The SAME", ("s1", "s2"))
    assert "s2" not in found


def test_documents_without_a_query_are_counted_and_stay() -> None:
    documents = [
        *numbered(20),
        Document("short", "Short", "Too few words."),
        Document("bare", "—", BODY),
        Document("twice", "Title number1", numbered(2)[1].text),
        *(Document(f"i{n}", "Introduction", f"{n}. {BODY}") for n in range(MOST_SHARED + 1)),
    ]
    made = make_pairs(documents, TITLES, most=1000)
    assert made.unused == {
        "too short": 1, "no title": 1, "equal to another": 1,
        f"a title that more than {MOST_SHARED} share": MOST_SHARED + 1,
    }  # fmt: skip
    assert set(pairs_of(made)) == {each.id for each in documents[:20]}
    assert set(texts_of(made)) == {each.id for each in documents} - {"twice"}
    assert "1 too short" in str(made)


def test_a_sentence_finds_the_rest_of_its_document_and_seldom_stays_in_it() -> None:
    documents = numbered(400)
    made = make_pairs(documents, SENTENCES, most=1000)
    whole, left, kept = {each.id: each for each in documents}, texts_of(made), 0
    for name, (sentence, relevant) in pairs_of(made).items():
        assert relevant == (name,)
        assert sentence in whole[name].text
        assert left[name].title == whole[name].title
        kept += left[name].text == whole[name].text
        if sentence in left[name].text:
            assert left[name].text == whole[name].text
        else:
            assert len(left[name].text) + len(sentence) == len(whole[name].text) - 1
    assert 20 <= kept <= 65  # 10 % of 400, within four standard deviations
    starts = {sentence.split()[0].rstrip("0123456789") for sentence, _ in pairs_of(made).values()}
    assert starts == {"First", "Second", "Wipe"}


def test_sentences_leave_documents_whole_whose_sentence_was_not_drawn() -> None:
    documents = numbered(200)
    made = make_pairs(documents, SENTENCES, most=50)
    whole, drawn = {each.id: each for each in documents}, pairs_of(made)
    assert len(drawn) == 50
    assert made.possible == 200
    assert "drawn from 200" in str(made)
    changed = {each.id for each in made.documents if each != whole[each.id]}
    assert changed < set(drawn)
    assert len(changed) > 35


@pytest.mark.parametrize("weak", WEAK)
def test_draws_depend_on_seed_and_ids_and_not_on_the_order(weak: str) -> None:
    documents = numbered(300)
    mixed = documents[::-1]
    one, other = (make_pairs(each, weak, most=100) for each in (documents, mixed))
    assert (one.learn, one.held_out) == (other.learn, other.held_out)
    assert texts_of(one) == texts_of(other)
    assert (len(one.learn), len(one.held_out)) == (90, 10)
    assert not {each.query.id for each in one.learn} & {each.query.id for each in one.held_out}
    assert set(pairs_of(make_pairs(documents, weak, most=100, seed=1))) != set(pairs_of(one))


@pytest.mark.parametrize("weak", WEAK)
def test_it_becomes_a_collection_whatever_the_ids_are(weak: str, tmp_path: Path) -> None:
    documents = [each._replace(id=f"my notes/{each.id} 5%") for each in numbered(20)]
    # Passages of one document follow each other under its id.
    documents.append(documents[-1]._replace(text=f"This is another passage. {BODY}"))
    made = make_pairs(documents, weak, most=1000)
    collection = made.write(tmp_path / "weak")
    names = [each.id for each in collection.documents()]
    assert names[0] == "my%20notes/d0%205%25"
    assert names[-1] == "my%20notes/d19%205%25%p2"
    judged = [*read_split(collection, "train"), *read_split(collection, "dev")]
    assert {each.id: (each.text, tuple(each.relevant)) for each in judged} == pairs_of(made)
    assert {name for each in judged for name in each.relevant} == set(names)


def test_passages_of_a_document_are_on_one_side_of_the_split() -> None:
    text = numbered(1)[0].text
    documents = [Document(f"d{n}", "", f"{n} {part} {text}") for n in range(30) for part in "abcde"]
    made = make_pairs(documents, SENTENCES, most=140)
    learn, held_out = (
        {each.query.id.partition("%")[0] for each in pairs} for pairs in (made.learn, made.held_out)
    )
    assert len(made.held_out) == 15
    assert len(held_out) == 3
    assert not learn & held_out


def test_too_few_queries_are_refused_with_what_to_type() -> None:
    untitled = [each._replace(title="") for each in numbered(30)]
    with pytest.raises(InputError, match=r"no document of x\.csv has a title.* --weak sentences"):
        make_pairs(untitled, TITLES, most=1000, name="x.csv")
    with pytest.raises(InputError, match=f"gives 19 titles as queries.* {LEAST_QUERIES}"):
        make_pairs([*numbered(19), *untitled], TITLES, most=1000)
    short = [each._replace(text="Only one short sentence.") for each in numbered(30)]
    with pytest.raises(
        InputError, match=r"0 sentences as queries.*30 too short.*longer documents$"
    ):
        make_pairs(short, SENTENCES, most=1000)


def test_a_heading_ends_where_the_title_ends() -> None:
    assert without_heading("Oil\n===\nIt burns.", "Oil") == "It burns."
    assert without_heading("Oiling hinges", "Oil") == "Oiling hinges"
    assert without_heading("Oil (a + b): x", "oil a+b") == "x"
    assert without_heading("Text", "...") == "Text"
