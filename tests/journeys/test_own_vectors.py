"""Vectors that somebody else has computed: of documents, and of queries."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.updating.merge import merge
from ranklet.corpus.updating.sync import sync
from ranklet.corpus.updating.update import update
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import CollectionError, InputError, NoVectorError, RankletError
from ranklet.workflows.build import build
from ranklet.workflows.tables.given import train_tokenizer

SIZE, DIMENSION = 40, 8
WORDS = [
    "bread",
    "dough",
    "oven",
    "flour",
    "water",
    "salt",
    "yeast",
    "knead",
    "rise",
    "bake",
    "crust",
    "rye",
    "sour",
]
ROWS = np.random.default_rng(0).normal(size=(SIZE + 10, DIMENSION)).astype(np.float32)


def make_documents(*numbers: int, vectors: bool = True) -> list[dict[str, Any]]:
    """Return documents, whose texts and vectors depend on their numbers only."""
    made = []
    for number in numbers or range(SIZE):
        text = " ".join(np.random.default_rng(number).choice(WORDS, 12))
        vector = {"vector": ROWS[number].tolist()} if vectors else {}
        made.append({"id": f"d{number}", "text": text, "group": number % 3, **vector})
    return made


def read_stored(bundle: Bundle) -> NDArray[np.float32]:
    """Return the vectors as they lie in a bundle."""
    stored: NDArray[np.float32] = np.load(bundle.path / "rankers/vectors/vectors.npy")  # type: ignore[operator]
    return stored


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors of texts, each by its words alone."""
    counts = np.array([[text.split().count(word) for word in WORDS] for text in texts], np.float32)
    return counts @ np.random.default_rng(1).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)


def as_column(folder: Path) -> dict[str, Any]:
    return {"documents": make_documents(), "vectors": "vector"}


def as_file(folder: Path) -> dict[str, Any]:
    np.save(folder / "rows.npy", ROWS[:SIZE])
    return {"documents": make_documents(vectors=False), "vectors": str(folder / "rows.npy")}


def as_array(folder: Path) -> dict[str, Any]:
    return {"documents": make_documents(vectors=False), "vectors": ROWS[:SIZE]}


def as_mapping(folder: Path) -> dict[str, Any]:
    by_id = {f"d{number}": row for number, row in reversed([*enumerate(ROWS)])}
    return {"documents": make_documents(vectors=False), "vectors": by_id}


def as_function(folder: Path) -> dict[str, Any]:
    documents = make_documents(vectors=False)
    rows = {each["text"]: row for each, row in zip(documents, ROWS, strict=False)}
    return {"documents": documents, "vectors": lambda texts: [rows[each] for each in texts]}


def as_json(folder: Path) -> dict[str, Any]:
    lines = [{**each, "vector": json.dumps(each["vector"])} for each in make_documents()]
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return {"documents": folder / "texts.jsonl", "vectors": "vector"}


def as_frame(folder: Path) -> dict[str, Any]:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(make_documents())
    frame["vector"] = [row.tobytes() for row in ROWS[:SIZE]]  # as SQLite has them
    frame.to_parquet(folder / "texts.parquet")
    return {"documents": folder / "texts.parquet", "vectors": "vector"}


FORMS = [as_column, as_file, as_array, as_mapping, as_function, as_json, as_frame]


@pytest.mark.parametrize("form", FORMS)
def test_vectors_are_stored_bit_for_bit_and_rank_by_their_cosine(
    form: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    given = form(tmp_path)
    bundle = build(target=tmp_path / "b", vector_model="text-embedding-3-small", **given)
    assert read_stored(bundle).tobytes() == ROWS[:SIZE].tobytes()
    settings = bundle.files.settings("vectors")
    assert (settings.model, settings.dimension) == ("text-embedding-3-small", DIMENSION)
    assert settings.similarity == "cosine"
    assert bundle.metadata == {"group": "number"}
    query = ROWS[SIZE]
    unit = ROWS[:SIZE] / np.linalg.norm(ROWS[:SIZE], axis=1, keepdims=True)
    cosines = unit @ query / np.linalg.norm(query)
    found = bundle.rank("dough", vector=query, pipeline="vectors", k=5)
    best = np.argsort(-cosines)[:5]
    assert [hit.id for hit in found] == [f"d{number}" for number in best]
    assert np.allclose([hit.score for hit in found], cosines[best], atol=1e-6)


@pytest.mark.parametrize("stored", ["float16", "int8"])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_other_forms_lose_little(stored: str, similarity: str, tmp_path: Path) -> None:
    from ranklet.export.options import ExportOptions

    bundle = build(
        make_documents(), tmp_path / "b", vectors="vector", similarity=similarity,
        export=ExportOptions(settings={"stored": stored}),
    )  # fmt: skip
    rows = ROWS[:SIZE]
    if similarity == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    query = ROWS[SIZE] / np.linalg.norm(ROWS[SIZE])
    hit = bundle.rank("dough", vector=query, pipeline="vectors")[0]
    assert hit.score == pytest.approx(float((rows @ query).max()), abs=0.03)


WRONG = [
    ([np.nan] * DIMENSION, "a number is not finite"),
    ([0.0] * DIMENSION, "all numbers are 0"),
    ([1.0] * (DIMENSION - 1), "it has 7 numbers, and others have 8"),
    (None, "it is missing"),
    ("[1, 2", "'[1, 2' is no list of numbers"),
    ([["a"]], "is no list of numbers"),
    (b"ab\xff", "3 bytes are no numbers of 32 bits"),
    ([1e300] * DIMENSION, "a number is not finite"),
]


@pytest.mark.parametrize(("value", "why"), WRONG)
def test_a_vector_that_cannot_be_used_is_refused_in_one_line_with_the_id(
    value: Any, why: str, tmp_path: Path
) -> None:
    documents = make_documents()
    documents[3]["vector"] = value
    with pytest.raises(CollectionError, match="'d3' has no vector that can be used") as error:
        build(documents, tmp_path / "b", vectors="vector")
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "b").exists()
    if value is not None and value != "[1, 2":
        bundle = build(make_documents(), tmp_path / "b", vectors="vector")
        with pytest.raises(CollectionError, match="'d3' has no vector that can be used"):
            update(bundle, [documents[3]])
        with pytest.raises(CollectionError, match="'d3' has no vector that can be used"):
            WritableBundle(tmp_path / "b").add([documents[3]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ROWS[: SIZE - 1], "there are only 39 vectors"),
        (ROWS, "there are 50 vectors and 40 documents"),
        (ROWS[0], "vectors have the shape 8"),
        (7, "vectors is a int"),
        ("missing.npy", "cannot be read"),
        ("other", "it has no 'other'"),
        (lambda texts: ROWS[: len(texts) - 1], "returned 39 for 40 texts"),
    ],
)
def test_vectors_that_do_not_fit_the_documents_are_refused(
    given: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(RankletError, match=message) as error:
        build(make_documents(vectors=False), tmp_path / "b", vectors=given)
    assert "\n" not in str(error.value)


def test_bad_documents_may_be_left_out(tmp_path: Path) -> None:
    from ranklet.corpus.sources.options import SourceOptions

    documents = make_documents()
    documents[3]["vector"] = None
    options = SourceOptions(skip_bad=True)
    bundle = build(documents, tmp_path / "b", vectors="vector", source=options)
    assert len(bundle) == SIZE - 1
    assert "d3" not in bundle.documents.ids


def without_facts(bundle: Bundle) -> dict[str, str]:
    """Return the digests of a bundle's files."""
    return {name: each.sha256 for name, each in bundle.manifest.files.items()}


def test_every_change_makes_what_a_build_of_all_documents_makes(tmp_path: Path) -> None:
    whole = build(make_documents(), tmp_path / "whole", vectors="vector")
    begun = build(make_documents(*range(30)), tmp_path / "begun", vectors="vector")
    rest = make_documents(*range(30, SIZE))
    updated = update(begun, rest, target=tmp_path / "updated")
    assert without_facts(updated) == without_facts(whole)
    live = WritableBundle(tmp_path / "begun").add(rest[:4]).add(rest[4:])
    query, vector = "dough oven", ROWS[SIZE]
    assert list(live.rank(query, vector=vector, pipeline="vectors")) == list(
        whole.rank(query, vector=vector, pipeline="vectors")
    )
    assert without_facts(live.compact()) == without_facts(whole)
    other = build(rest, tmp_path / "other", vectors="vector")
    first = build(make_documents(*range(30)), tmp_path / "first", vectors="vector")
    merged = merge([first, other], tmp_path / "merged")
    assert without_facts(merged) == without_facts(whole)
    no_vector = make_documents(SIZE, vectors=False)
    with pytest.raises(CollectionError, match="'d40' has no vector"):
        update(whole, no_vector)
    by_rows = update(whole, no_vector, vectors=ROWS[[SIZE]], target=tmp_path / "more")
    assert np.array_equal(read_stored(by_rows)[-1], ROWS[SIZE])


def test_another_vector_of_the_same_text_is_a_change(tmp_path: Path) -> None:
    bundle = WritableBundle(build(make_documents(), tmp_path / "b", vectors="vector"))
    assert bundle.add(make_documents(5)).counts.replaced == 0
    changed = make_documents(5)
    changed[0]["vector"] = ROWS[SIZE].tolist()
    assert bundle.add(changed).counts.replaced == 1
    best = bundle.rank("dough", vector=ROWS[SIZE], pipeline="vectors")[0]
    assert (best.id, round(best.score, 5)) == ("d5", 1)
    update(bundle.compact(), make_documents(5))
    assert np.array_equal(read_stored(bundle)[5], ROWS[5])


def test_a_table_is_synced_with_its_vectors(tmp_path: Path) -> None:
    table = tmp_path / "texts.jsonl"
    table.write_text("\n".join(map(json.dumps, make_documents())))
    bundle = WritableBundle(build(table, tmp_path / "b", vectors="vector"))
    assert sync(bundle, table).replaced == 0
    documents = make_documents()
    documents[7]["vector"] = ROWS[SIZE].tolist()
    table.write_text("\n".join(map(json.dumps, documents[1:])))
    counts = sync(bundle, table)
    assert (counts.replaced, counts.deleted) == (1, 1)


def test_a_function_encodes_passages_and_nothing_else_is_split(tmp_path: Path) -> None:
    text = " ".join(f"{' '.join(WORDS)} {at}." for at in range(40))
    function = build([text], tmp_path / "a", vectors=encode)
    assert function.passages > 1
    column = build([{"text": text, "vector": [1.0]}], tmp_path / "b", vectors="vector")
    assert column.passages == 0


def test_a_query_without_a_vector_is_answered_by_words_which_is_said(tmp_path: Path) -> None:
    bundle = build(make_documents(), tmp_path / "b", vectors="vector")
    found = bundle.rank("dough oven")
    assert found.without == ("vectors: the query has no vector; pass vector=…",)
    assert [hit.id for hit in found] == [
        hit.id for hit in bundle.rank("dough oven", pipeline="bm25")
    ]
    assert "without" in found.to_dict()
    assert not found.budget_spent
    hybrid = bundle.rank("dough oven", vector=ROWS[SIZE])
    assert not hybrid.without
    assert [*hybrid] != [*found]
    with pytest.raises(NoVectorError, match="'vectors' cannot rank: the query has no vector"):
        bundle.rank("dough", pipeline="vectors")
    for silent in (bundle.rank_ids, bundle.features, lambda text: bundle.score(text, ids=["d1"])):
        with pytest.raises(NoVectorError, match="vectors: the query has no vector"):
            silent("dough oven")
    with pytest.raises(InputError, match="vector is that of one query"):
        bundle.rank_batch(["dough"], vector=ROWS[0])
    texts = bundle.rank("dough", documents=["dough", "oven"])
    assert texts.without == ("vectors: its vectors come from outside, so it encodes no texts",)


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1.0] * 7, "vector has 7 numbers, but those of 'vectors' have 8"),
        ([0.0] * 8, "vector must have finite numbers that are not all 0"),
        ([np.nan] * 8, "not finite"),
        ("dough", "must be a list of numbers"),
        ([[1.0]], "must be a list of numbers"),
        ([], "must be a list of numbers"),
        (7, "must be a list of numbers"),
    ],
)
def test_a_query_vector_that_cannot_be_used_is_refused(
    vector: Any, message: str, tmp_path: Path
) -> None:
    bundle = build(make_documents(), tmp_path / "b", vectors="vector")
    with pytest.raises(InputError, match=message):
        bundle.rank("dough", vector=vector)
    words = build(make_documents(), tmp_path / "c")
    with pytest.raises(InputError, match="none does"):
        words.rank("dough", vector=[1.0])


@pytest.fixture(scope="module")
def passages() -> list[dict[str, Any]]:
    draw = np.random.default_rng(2)
    texts = [" ".join(draw.choice(WORDS, 5, replace=False)) for _ in range(400)]
    rows = encode(texts)
    return [
        {"id": str(at), "text": text, "vector": rows[at].tolist()} for at, text in enumerate(texts)
    ]


def compute_cosine(bundle: Bundle, query: str, wanted: NDArray[np.float32]) -> float:
    """Return the cosine of the vector that a table makes of a query, and of a wanted one."""
    return float(bundle.encode_query(query) @ wanted / np.linalg.norm(wanted))


@pytest.mark.slow
def test_a_table_learns_queries_from_passages_alone_and_from_pairs(
    passages: list[dict[str, Any]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bundle = build(passages[:300], tmp_path / "b", vectors="vector", queries="table")
    query = "rye dough oven"
    (wanted,) = encode([query])
    assert compute_cosine(bundle, query, wanted) > 0.95
    found = bundle.rank(query, explain=True)
    assert not found.without
    assert "rye" in found[0].explanation.text(30)  # type: ignore[union-attr]
    said = bundle.manifest.provenance["checkpoints"]["vectors"]["query table"]
    assert "cosine to the vectors of unseen texts 0.9" in said
    assert "hardly follows" not in caplog.text
    more = update(bundle, passages[300:], target=tmp_path / "more")
    assert compute_cosine(more, query, wanted) == compute_cosine(bundle, query, wanted)
    assert len(WritableBundle(bundle).add(passages[300:303])) == 303

    # The model's queries are elsewhere than its documents, which only pairs can teach.
    short = [{"text": f"{a} {b}"} for a in WORDS for b in WORDS if a != b]
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(DIMENSION, DIMENSION)))[0]
    turned = encode([each["text"] for each in short]) @ turn
    pairs = [{**each, "vector": row.tolist()} for each, row in zip(short, turned, strict=True)]
    taught = build(
        passages[:300], tmp_path / "taught", vectors="vector", queries="table", pairs=pairs
    )
    assert compute_cosine(taught, query, wanted @ turn) > 0.95
    assert compute_cosine(bundle, query, wanted @ turn) < 0.9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": [{"text": "rye"}]}, "pairs have no effect unless queries is table"),
        ({"queries": "table", "texts": ["a.txt"]}, "texts have no vectors; give pairs"),
        ({"queries": "table", "pairs": [{"text": "rye"}]}, "has no vector that can be used"),
        ({"vector_model": "m", "vectors": None}, "vector_model has no effect"),
    ],
)
def test_what_has_no_effect_is_refused(
    given: dict[str, Any], message: str, passages: list[dict[str, Any]], tmp_path: Path
) -> None:
    with pytest.raises(RankletError, match=message):
        build(passages[:50], tmp_path / "b", **{"vectors": "vector", **given})


def test_the_word_pieces_of_texts_are_the_same_each_time() -> None:
    texts = [
        " ".join(f"{a}{b}" for b in "ropqst") for a in ("wa", "wé", "zo", "水", "ka", "xe")
    ] * 2
    first, *others = (train_tokenizer(texts) for _ in range(5))
    assert all(each.to_str() == first.to_str() for each in others)
    assert first.encode("##a wap").tokens[1:3] == ["[UNK]", "[UNK]"]
    assert len(first.get_vocab()) > 40
