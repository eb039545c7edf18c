"""An updated bundle equals one that was built from scratch, and bad changes lose nothing."""

import shutil
import threading
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.damage import change_manifest, with_settings
from tests.kinds import TinyRankers
from tests.updates import (
    SPLIT,
    WHOLE,
    Record,
    changes,
    documents_of,
    first_records,
    held,
    indexed,
    record,
    seeded,
)

import ranklet
from ranklet.corpus.errors import BuildError
from ranklet.corpus.index import index_bundle
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.rankers import dense
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.changes import Counts
from ranklet.corpus.updating.update import update
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import (
    BundleError,
    CollectionError,
    InputError,
    RankletError,
    UnknownDocumentError,
)
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.runtime.rankers.epic import EPICEncoders

if TYPE_CHECKING:
    from tests.conftest import Built

STEPS = 2  # changes that follow one another in a sequence
NEURAL = ("dense", "epic", "colbert")


def counts(bundle: Bundle) -> tuple[int, ...]:
    """Return how many documents were added, replaced, deleted, unchanged and missing."""
    recorded = bundle.manifest.provenance["update"]
    return tuple(recorded[each.name] for each in fields(Counts))


def follow(rankers: Path, seed: int, folder: Path) -> None:
    """Make a random sequence of changes, and compare with a build from scratch at its end."""
    rng = seeded(seed)
    options = (WHOLE, SPLIT)[seed % 2]
    records = first_records(rng)
    target = indexed(rankers, records, folder / "changing", options)
    for change in changes(records, rng, STEPS):
        done = update(target, change.add or None, delete=change.delete)
        assert done.path == target
        records = change.after
    scratch = indexed(rankers, records, folder / "scratch", options)
    ours, theirs = held(target), held(scratch)
    assert {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)} == set()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_lexical_rankers_of_a_changed_bundle_are_as_from_scratch(
    seed: int, built: "Built", tmp_path: Path
) -> None:
    follow(built.exported, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_and_so_they_are_after_many_sequences(part: int, built: "Built", tmp_path: Path) -> None:
    for seed in range(8 + part * 13, 8 + (part + 1) * 13):
        follow(built.exported, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*NEURAL, "splade", "srm", "neural_model1", "tk", "cross_encoder"])
def test_neural_rankers_of_a_changed_bundle_are_as_from_scratch(
    kind: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    for seed in range(4 if kind in NEURAL else 1):
        follow(tiny.exported(kind), seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "search"), [("int8", "binary"), ("float16", "exact")])
def test_stored_vectors_of_a_changed_bundle_are_copied(
    form: str, search: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    rankers = Path(shutil.copytree(tiny.exported("dense"), tmp_path / "rankers"))
    follow(with_settings(rankers, "dense", stored=form, search=search), 3, tmp_path)


@pytest.mark.slow
def test_a_conformer_kernel_is_indexed_again(tiny: TinyRankers, tmp_path: Path) -> None:
    follow(tiny.exported("conformer_kernel"), 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "encoder", "method"),
    [
        ("dense", DenseEncoder, "encode_documents"),
        ("epic", EPICEncoders, "encode_documents"),
        ("colbert", ColBERTEncoder, "encode_stored"),
    ],
)
def test_only_new_texts_are_encoded(
    kind: str, encoder: Any, method: str, tiny: TinyRankers, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    records = first_records(seeded(1))
    target = indexed(tiny.exported(kind), records, tmp_path / "b", WHOLE)
    rankers = len(BundleFiles(target).manifest.rankers) - 1  # without BM25
    original, read = getattr(encoder, method), list[str]()

    def counted(self: Any, texts: list[str]) -> Any:
        read.extend(texts)
        return original(self, texts)

    monkeypatch.setattr(encoder, method, counted)
    same, other = dict(records[2]), {**records[3], "text": "a violin"}
    done = update(target, [same, other, {"id": "new", "text": "a fiddle"}], delete=["d0"])
    assert counts(done) == (1, 1, 1, 6, 0)
    title = records[3]["title"]
    assert sorted(read) == sorted([f"{title}\na violin".lstrip(), "a fiddle"] * rankers)


# ------------------------------------------------------------------------------ what it means


@pytest.fixture
def three(built: "Built", tmp_path: Path) -> Path:
    """Return a bundle of the documents a, b and c."""
    records = [{"id": name, "text": f"{name} mouse"} for name in "abc"]
    return indexed(built.exported, records, tmp_path / "three", WHOLE)


def ids(bundle: Path) -> list[str]:
    return [each.id for each in documents_of(bundle)]


def test_replaced_documents_keep_their_place_and_new_ones_come_last(three: Path) -> None:
    done = ranklet.update(
        three,
        [{"id": "z", "text": "zebra"}, {"id": "b", "text": "bacteria"}, {"id": "y", "text": "yes"}],
        delete=["a"],
    )
    assert ids(three) == ["b", "c", "z", "y"]
    assert str(Counts(*counts(done))) == "2 added, 1 replaced, 1 deleted, 1 unchanged"
    assert documents_of(three)[0].text == "bacteria"
    bundle = Bundle(three)
    assert [hit.id for hit in bundle.rank("bacterium", pipeline="bm25")] == ["b"]
    assert [hit.id for hit in bundle.rank("mice", pipeline="bm25")] == ["c"]


def test_another_target_leaves_the_bundle_as_it_is(three: Path, tmp_path: Path) -> None:
    before = held(three)
    done = update(three, delete=["c"], target=tmp_path / "two.zip")
    assert ids(tmp_path / "two.zip") == ["a", "b"]
    assert done.path == tmp_path / "two.zip"
    assert held(three) == before
    with pytest.raises(BuildError, match="exists"):
        update(three, delete=["a"], target=tmp_path / "two.zip")
    update(three, delete=["a"], target=tmp_path / "two.zip", overwrite=True)
    assert ids(tmp_path / "two.zip") == ["b", "c"]


def test_pipelines_and_provenance_are_kept(built: "Built", tmp_path: Path) -> None:
    done = update(built.fused, [{"id": "new", "text": "new dough"}], target=tmp_path / "b")
    old, new = (BundleFiles(path).manifest for path in (built.fused, done.path))
    assert new.default_pipeline == "linear"
    assert new.pipelines == old.pipelines
    counted = {"added": 1, "replaced": 0, "deleted": 0, "unchanged": 42, "missing": 0}
    changed = {"update": counted}
    assert new.provenance == {**old.provenance, **changed}
    assert "new" in [hit.id for hit in Bundle(done.path).rank("new dough")]


def test_an_update_without_documents_only_deletes(three: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,text\n")
    nothing: list[Any] = [[], iter(()), tmp_path / "new.csv"]
    for name, add in zip("abc", nothing, strict=True):
        if name == "c":
            with pytest.raises(InputError, match="no document"):
                update(three, add, delete=[name])
        else:
            assert counts(update(three, add, delete=[name]))[:3] == (0, 0, 1)
        with pytest.raises(CollectionError, match="has no document"):
            update(three, [])
    assert ids(three) == ["c"]


def test_documents_of_another_version_are_analysed_again(
    three: Path, built: "Built", tmp_path: Path
) -> None:
    change_manifest(three, lambda manifest: manifest.update(ranklet_version="0.0.1"))
    update(three, [{"id": "d", "text": "d mice"}])
    records = [
        {"id": name, "text": f"{name} {'mice' if name == 'd' else 'mouse'}"} for name in "abcd"
    ]
    assert held(three) == held(indexed(built.exported, records, tmp_path / "s", WHOLE))


@pytest.mark.slow
def test_what_another_variant_encoded_is_encoded_again(tiny: TinyRankers, tmp_path: Path) -> None:
    records = first_records(seeded(1))
    target = indexed(tiny.exported("dense"), records, tmp_path / "b", WHOLE)
    vectors = (target / "rankers" / "dense" / "vectors.npy").read_bytes()
    for unknown in ({"encoder": "0" * 64}, {}):

        def change(manifest: dict[str, Any], unknown: dict[str, str] = unknown) -> None:
            entry = manifest["rankers"]["dense"]
            entry.pop("encoder")
            entry.update(unknown)

        change_manifest(target, change)
        update(target, [records[0]], target=tmp_path / "again", overwrite=True)
        again = tmp_path / "again" / "rankers" / "dense" / "vectors.npy"
        assert again.read_bytes() == vectors
        assert BundleFiles(tmp_path / "again").manifest.rankers["dense"].encoder not in unknown


@pytest.mark.slow
def test_what_the_size_of_the_collection_decides_is_decided_anew(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "CODES_FROM", 12)
    records = first_records(seeded(2), 16)
    exported = tiny.exported("dense")
    target = indexed(exported, records, tmp_path / "b", WHOLE)

    def search() -> str:
        return str(BundleFiles(target).manifest.rankers["dense"].settings["search"])

    assert search() == "binary"
    update(target, delete=[each["id"] for each in records[10:]])
    assert search() == "exact"
    assert held(target) == held(indexed(exported, records[:10], tmp_path / "s", WHOLE))
    update(target, records[10:])
    assert search() == "binary"
    assert held(target) == held(indexed(exported, records, tmp_path / "s", WHOLE))


def test_a_long_text_is_split_as_those_of_the_bundle_were(built: "Built", tmp_path: Path) -> None:
    records = [record(f"d{at}", seeded(at)) for at in range(3)]
    target = indexed(built.exported, records, tmp_path / "b", SPLIT)
    long: Record = {"id": "long", "title": "", "text": "one two three four. " * 6}
    assert counts(update(target, [long]))[0] == 1
    assert held(target) == held(indexed(built.exported, [*records, long], tmp_path / "s", SPLIT))
    assert BundleFiles(target).manifest.splitting == (6, 2)


def test_how_a_bundle_is_split_is_kept(three: Path) -> None:
    more = [{"id": "d", "text": "more"}]
    with pytest.raises(InputError, match=r"--passage-words 0 .* --passage-words 6 .* leave these"):
        update(three, more, options=SPLIT)
    with pytest.raises(InputError, match="leave these"):
        update(three, Source(more))
    update(three, more, options=WHOLE)
    assert BundleFiles(three).manifest.splitting == (0, 0)


# ------------------------------------------------------------------------------ what is refused

TWICE = [{"id": "d", "text": "one"}, {"id": "e", "text": "two"}, {"id": "d", "text": "three"}]
BAD: dict[str, tuple[dict[str, Any], type[RankletError], str]] = {
    "nothing": ({}, InputError, "nothing to change"),
    "an empty list": ({"add": []}, CollectionError, "no document"),
    "an unknown id": ({"delete": ["a", "nobody"]}, UnknownDocumentError, "'nobody'; .*missing-ok"),
    "many unknown ids": ({"delete": list("uvwxyz")}, UnknownDocumentError,
                         "and 3 more"),
    "all documents": ({"delete": ["a", "b", "c"]}, InputError, "no document remains"),
    "a string of ids": ({"delete": "a"}, InputError, "must be a list, not str"),
    "no list of ids": ({"delete": None}, InputError, "must be a list, not NoneType"),
    "an id that is a number": ({"delete": [1]}, InputError, "must be a string"),
    "added and deleted": ({"add": [{"id": "a", "text": "x"}], "delete": ["a"]}, InputError, "both"),
    "added twice": ({"add": TWICE}, CollectionError, "id occurs twice"),
    "documents without ids": ({"add": ["a text"]}, InputError, "have no ids"),
    "numbered documents": ({"add": [{"id": "d", "text": "x"}],
                            "options": SourceOptions(id_column="-")}, InputError, "have no ids"),
    "no text": ({"add": [{"id": "d"}]}, RankletError, "text"),
    "a missing file": ({"add": "/nowhere/texts.csv"}, CollectionError, "nowhere"),
    "a target that is no bundle": ({"delete": ["a"], "target": "thesis"}, BuildError, "exists"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_change_changes_nothing(
    name: str, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, error, message = BAD[name]
    (tmp_path / "thesis").write_text("years of work")
    monkeypatch.chdir(tmp_path)
    before = held(three)
    with pytest.raises(error, match=message):
        update(three, **{"add": None, **arguments})
    assert held(three) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["thesis", "three"]


def test_unknown_ids_may_be_allowed(three: Path) -> None:
    done = update(three, delete=["a", "nobody", "a"], missing_ok=True)
    assert str(Counts(*counts(done))) == "0 added, 0 replaced, 1 deleted, 2 unchanged, 1 missing"
    assert ids(three) == ["b", "c"]


def test_a_bundle_needs_a_collection(built: "Built", tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no collection"):
        update(built.exported, delete=["bread"], target=tmp_path / "b")
    with pytest.raises(BundleError, match="no bundle at"):
        update(tmp_path / "missing", delete=["bread"])


@pytest.mark.parametrize(
    "file", ["documents/texts.npy", "text/forms.npy", "rankers/bm25/impacts.npy"]
)
def test_a_damaged_bundle_is_refused(file: str, three: Path, tmp_path: Path) -> None:
    content = bytearray((three / file).read_bytes())
    content[-1] ^= 1
    (three / file).write_bytes(content)
    with pytest.raises(BundleError, match="sha256"):
        update(three, delete=["a"], target=tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_metadata_is_kept_replaced_and_added(built: "Built", tmp_path: Path) -> None:
    records: list[Record] = [
        {"id": "a", "text": "one", "year": 2020, "day": "2024-02-01", "tags": ["x", "y"]},
        {"id": "b", "text": "two", "brand": "Gnorp", "new": True},
        {"id": "c", "text": "three", "year": 2022, "brand": "Zeta"},
    ]
    target = indexed(built.exported, records, tmp_path / "b", WHOLE)
    changed: Record = {"id": "c", "text": "three", "year": 2023, "brand": "Zeta"}
    new: Record = {"id": "d", "text": "four", "price": 1.5}
    done = update(target, [records[0], changed, new], delete=["b"])
    assert counts(done) == (1, 1, 1, 1, 0)
    after = [records[0], changed, new]
    assert held(target) == held(indexed(built.exported, after, tmp_path / "s", WHOLE))
    found = {hit.id: hit.metadata for hit in Bundle(target).rank("one three four", pipeline="bm25")}
    assert found["c"] == {"year": 2023, "brand": "Zeta"}
    assert found["d"] == {"price": 1.5}
    update(target, delete=["a", "c"])
    assert BundleFiles(target).manifest.metadata == {"price": "number"}


def test_a_table_that_is_given_once_more_changes_nothing(built: "Built", tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,text,year,brand\na,one,2020,Gnorp\nb,two,,007\n", "utf-8")
    target = Path(index_bundle(built.exported, Source(table, WHOLE), tmp_path / "b"))
    before = held(target)
    done = update(target, table)
    assert counts(done) == (0, 0, 0, 2, 0)
    assert held(target) == before


@pytest.mark.parametrize(
    "words",
    [TextOptions(language="de"), TextOptions(normaliser="none"), TextOptions(language="auto")],
)
def test_words_of_other_languages_and_without_stems_are_as_from_scratch(
    words: TextOptions, built: "Built", tmp_path: Path
) -> None:
    records = first_records(seeded(3))
    target = Path(index_bundle(built.exported, Source(records, WHOLE), tmp_path / "b", words=words))
    (change,) = changes(records, seeded(4), 1)
    update(target, change.add or None, delete=change.delete)
    whole = Source(change.after, WHOLE)
    assert held(target) == held(
        Path(index_bundle(built.exported, whole, tmp_path / "s", words=words))
    )


# ------------------------------------------------------------------------------ where it is written


@pytest.mark.parametrize("name", ["b", "b.zip"])
def test_no_update_at_the_same_time_is_lost(tmp_path: Path, name: str) -> None:
    texts = [{"id": str(number), "text": f"dough {number}"} for number in range(5)]
    target = Path(ranklet.build(texts, tmp_path / name))

    def add(number: int) -> None:
        update(target, [{"id": f"new{number}", "text": "fresh"}])

    threads = [threading.Thread(target=add, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {hit.id for hit in Bundle(target).rank("fresh", k=9)}
    assert found == {f"new{number}" for number in range(4)}
    kept = f"{name}.additions"  # the version before
    assert {each.name for each in tmp_path.iterdir()} == {name, kept}


def test_a_link_to_a_bundle_stays(tmp_path: Path) -> None:
    target = Path(ranklet.build([{"id": "1", "text": "dough"}], tmp_path / "v1"))
    (tmp_path / "current").symlink_to(target)
    update(tmp_path / "current", [{"id": "2", "text": "bread"}])
    assert (tmp_path / "current").is_symlink()
    assert len(Bundle(target)) == 2


def test_an_open_bundle_is_updated_in_place_and_comes_back_new(three: Path) -> None:
    before = ranklet.load(three)
    after = ranklet.update(before, [{"id": "new", "text": "a fresh text"}])
    assert (len(before), len(after)) == (3, 4)
    assert ranklet.load(three) is after
