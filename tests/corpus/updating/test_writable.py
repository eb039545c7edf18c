"""A bundle that is written to while it is read finds what a plain model of it finds."""

import errno
import gc
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.range_server import RangeServer
from tests.updates import SPLIT, WHOLE, WORDS, Record, changes, first_records, held, indexed, seeded

import ranklet
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating import compact as compacting
from ranklet.corpus.updating import live as writing
from ranklet.corpus.updating import versions
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import bundle as bundle_module
from ranklet.runtime import ranking
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import LIST, locate_additions
from ranklet.runtime.ground.errors import (
    BundleError,
    CollectionError,
    InputError,
    UnknownDocumentError,
)
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve
from ranklet.runtime.rankers.verification import verify
from ranklet.runtime.ranking import load
from ranklet.runtime.syntax.query_syntax import Query

if TYPE_CHECKING:
    from tests.conftest import Built

STEPS = 3
EXACT = ("dense", "colbert")  # kinds whose scores depend on no other document


def rankers_of(bundle: Bundle) -> list[str]:
    return [name for name, e in bundle.manifest.rankers.items() if KINDS[e.kind].retrieves]


def compared(live: Bundle, records: list[Record], scratch: Bundle) -> None:
    """Compare a bundle with its records, and its hits with those of a build from scratch."""
    assert len(live) == len(records)
    assert live.passages == scratch.passages
    for each in records:
        document, other = live.document(each["id"]), scratch.document(each["id"])
        assert document == other
    query = " ".join(WORDS[:9])
    years = {each["id"] for each in records if each.get("year", 0) > 2005}
    new = {each["id"] for each in records if not each.get("new")}
    fields = set(live.metadata)
    for name in rankers_of(live):
        pipeline = Pipeline((Retrieve(name, 50),))
        ours = dict(live.rank_ids(query, pipeline=pipeline))
        theirs = dict(scratch.rank_ids(query, pipeline=pipeline))
        kind = live.manifest.rankers[name].kind
        if kind == "conformer_kernel":  # which finds documents of additions by their words only
            assert ours.keys() <= {each["id"] for each in records}
        else:
            assert ours.keys() == theirs.keys()
        if kind in EXACT:
            assert ours == pytest.approx(theirs)
        if "year" in fields:
            found = live.rank_ids(query, pipeline=pipeline, where={"year": {">": 2005}})
            assert {id_ for id_, _ in found} == ours.keys() & years
            found = live.rank_ids(query, pipeline=pipeline, where={"not": {"new": True}})
            assert {id_ for id_, _ in found} == ours.keys() & new
            groups = live.rank(query, k=50, pipeline=pipeline, group_by="brand")
            brands = [hit.metadata.get("brand", hit.id) for hit in groups]
            assert len(brands) == len(set(brands))
        for hit in live.rank(query, k=3, pipeline=pipeline, explain=True):
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
            assert [*live.highlight(hit)] or not hit.explanation.parts or hit.score == 0
    for text in ('"running mouse"', "-cats run", "fid* -river", '-"the house" houses'):
        asked, words = Query.parse(text), Pipeline((Retrieve("bm25", 50),))
        assert {id_ for id_, _ in live.rank_ids(asked, pipeline=words)} == {
            id_ for id_, _ in scratch.rank_ids(asked, pipeline=words)
        }
    if "year" in fields:
        part = live.only({"year": {">": 2005}})
        assert len(part) == len(years)
        assert {id_ for id_, _ in part.rank_ids(query)} <= years
    names = [each["id"] for each in records]
    scores = live.score(query, ids=names)
    assert np.isfinite(scores).all()


def follow(rankers: Path, seed: int, folder: Path, steps: int = STEPS) -> None:
    """Make a random sequence of writes, and compare after each, and after the last is compacted."""
    rng = seeded(seed)
    options = (WHOLE, SPLIT)[seed % 2]
    records = first_records(rng)
    target = indexed(rankers, records, folder / "live", options)
    bundle = ranklet.open(target, writable=True)
    assert isinstance(bundle, WritableBundle)
    known = {0: records}  # the documents of each version that is there
    for step in range(steps):
        if step and rng.random() < 0.3:
            version = rng.choice(sorted(known))
            bundle.restore(version)
            records = known[version]
        else:
            (change,) = changes(records, rng, 1, f"{step}-")
            bundle.change(change.add or None, change.delete)
            records = change.after
        known[bundle.log()[0].version] = records
        scratch = Bundle(indexed(rankers, records, folder / "scratch", options))
        compared(bundle, records, scratch)
        compared(load(target), records, scratch)
        if rng.random() < 0.3 or step == steps - 1:
            keep = rng.randint(0, 2) if step < steps - 1 else 0
            bundle.compact(keep=keep)
            assert held(target) == held(folder / "scratch")
            assert bundle.additions is None
            known = dict(sorted(known.items())[-keep - 1 :])
        logged(bundle, known)
    assert not locate_additions(target).exists()  # type: ignore[union-attr]


def logged(bundle: Bundle, known: dict[int, list[Record]]) -> None:
    """Compare the versions of a bundle with what each of them had."""
    log = bundle.log()
    assert {each.version: each.documents for each in log} == {
        version: len(records) for version, records in known.items()
    }
    for version, records in known.items():
        opened = bundle.at(version)
        assert len(opened) == len(records)
        for each in records:
            shown = opened.document(each["id"])
            assert shown.title == each["title"]
            assert shown.metadata.get("year") == each.get("year")
    for own, before in pairwise(log):
        assert own.version == before.version + 1
        if own.restored is None:
            assert own.documents == before.documents + own.added - own.deleted
        elif own.restored in known:
            assert known[own.version] == known[own.restored]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_sequence_of_writes_is_as_from_scratch(seed: int, built: "Built", tmp_path: Path) -> None:
    follow(built.exported, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_and_so_it_is_for_every_kind(kind: str, tiny: TinyRankers, tmp_path: Path) -> None:
    for seed in (10, 11):
        follow(tiny.exported(kind), seed, tmp_path)


# ------------------------------------------------------------------------------ what it means


@pytest.fixture
def three(built: "Built", tmp_path: Path) -> WritableBundle:
    """Return a bundle of the documents a, b and c."""
    records: list[Record] = [
        {"id": name, "text": f"{name} mouse", "year": 2000 + at} for at, name in enumerate("abc")
    ]
    return WritableBundle(indexed(built.exported, records, tmp_path / "three", WHOLE))


def found(bundle: Bundle, query: str = "mouse") -> list[str]:
    return sorted(id_ for id_, _ in bundle.rank_ids(query, pipeline="bm25"))


def document(name: str, text: str = "mouse", **others: Any) -> Record:
    return {"id": name, "text": f"{name} {text}", **others}


def test_a_write_is_seen_by_its_bundle_and_by_who_opens_it_next(three: WritableBundle) -> None:
    before = load(three.path)
    assert three.add([document("d", "mice")]) is three
    assert str(three.counts) == "1 added, 0 replaced, 0 deleted, 3 unchanged"
    assert found(three) == found(load(three.path)) == ["a", "b", "c", "d"]
    assert found(before) == ["a", "b", "c"]
    assert load(three.path).files is before.files  # the base is not opened again
    three.add([document("d", "mice"), document("a", "bacteria")])
    assert str(three.counts) == "0 added, 1 replaced, 0 deleted, 3 unchanged"
    assert found(three) == ["b", "c", "d"]
    assert found(three, "bacterium") == ["a"]
    three.delete(["b", "d"])
    assert found(three) == ["c"]
    assert sorted(hit.index for hit in three.rank("mouse bacteria", pipeline="bm25")) == [0, 1]
    with pytest.raises(UnknownDocumentError, match="unknown document id 'b'"):
        three.document("b")
    again = pickle.loads(pickle.dumps(load(three.path)))  # noqa: S301
    assert again.rank_ids("mouse") == three.rank_ids("mouse")
    version = three.additions.version if three.additions else 0
    three.delete(["nobody"], missing_ok=True)
    assert three.additions is not None
    assert three.additions.version == version  # nothing was written


@pytest.mark.parametrize("language", ["de", "ja", "auto"])
def test_words_of_other_languages_are_found_and_compacted(language: str, tmp_path: Path) -> None:
    texts = {
        "de": ["Die Katze schläft.", "Der Hund läuft auf dem Radweg.", "Wetter für die Katzen."],
        "ja": ["猫は庭で寝ています。", "犬が公園を走っています。", "猫の天気です。"],
        "auto": ["Die Katze und der Hund sind da.", "The dog runs to the cat.", "Le chat dort là."],
    }[language]
    records = [{"id": str(at), "text": text} for at, text in enumerate(texts)]
    options = TextOptions(language=language)
    bundle = WritableBundle(ranklet.build(records[:2], tmp_path / "live", words=options))
    bundle.add(records[2:])
    assert found(bundle, {"de": "Katze", "ja": "猫", "auto": "chat"}[language])[-1] == "2"
    bundle.compact()
    ranklet.build(records, tmp_path / "scratch", words=options)
    ours, theirs = held(tmp_path / "live"), held(tmp_path / "scratch")
    if language != "auto":  # where the new text brings a language of its own
        assert ours == theirs
    assert found(bundle, texts[2]) == found(Bundle(tmp_path / "scratch"), texts[2])


def test_a_bundle_that_is_compacted_while_it_is_opened_lacks_nothing(
    three: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    three.add([document("d")])
    known, original = load(three.path), bundle_module.open_search

    def late(*given: Any) -> Any:
        monkeypatch.setattr(bundle_module, "open_search", original)
        WritableBundle(three.path).compact().add([document("e")])
        return original(*given)

    monkeypatch.setattr(bundle_module, "open_search", late)
    assert found(known.current()) == ["a", "b", "c", "d", "e"]
    monkeypatch.setattr(bundle_module, "open_search", late)
    assert found(Bundle(three.path)) == ["a", "b", "c", "d", "e"]
    assert found(known) == ["a", "b", "c", "d"]  # it goes on with the old one


def test_a_hit_is_read_as_it_was_found_whatever_becomes_of_its_bundle(
    three: WritableBundle,
) -> None:
    three.add([document("d", "mouse new", year=2031)])
    hits, same = ranklet.open(three.path).rank("mouse", k=9), load(three.path).rank("mouse", k=9)
    wanted = [hit.to_dict() for hit in same]
    assert {hit["id"] for hit in wanted} == {"a", "b", "c", "d"}
    three.delete(["d"])
    three.add([document("a", "cheese")])
    three.compact()
    shutil.rmtree(three.path)
    gc.collect()
    assert [hit.to_dict() for hit in hits] == wanted


def test_words_of_additions_are_as_rare_as_in_the_whole_collection(three: WritableBundle) -> None:
    three.add([document("d"), document("e", "mouse zebra")])
    scratch = ranklet.open(three.path)
    ours = dict(three.rank_ids("mouse zebra", pipeline="bm25"))
    assert ours["b"] == ours["c"] < ours["e"]
    assert ours["b"] == pytest.approx(ours["d"], rel=5e-3)  # 8 bits of two scales
    three.compact()
    assert ours == pytest.approx(dict(three.rank_ids("mouse zebra", pipeline="bm25")), rel=0.05)
    assert dict(scratch.rank_ids("mouse zebra", pipeline="bm25")) == ours  # it goes on as it was


def test_an_earlier_version_is_ranked_and_brought_back(three: WritableBundle) -> None:
    assert [(each.version, each.documents) for each in three.log()] == [(0, 3)]
    three.add([document("d"), document("a", "mice")]).delete(["b"])
    assert [each[1:] for each in list_numbers(three)] == [(3, 0, 0, 1), (4, 1, 1, 0), (3, 0, 0, 0)]
    assert found(three.at(0)) == ["a", "b", "c"]
    assert found(load(three.path).at(1)) == ["a", "b", "c", "d"]
    assert found(pickle.loads(pickle.dumps(three.at(0)))) == ["a", "b", "c"]  # noqa: S301
    assert len(three.at(0).only({"year": {">": 2000}}).at(1)) == 2
    three.restore(1)
    assert found(three) == found(load(three.path)) == ["a", "b", "c", "d"]
    three.restore(0)
    assert found(three) == ["a", "b", "c"]
    assert three.additions is None
    assert [each.restored for each in three.log()] == [0, 1, None, None, None]
    with pytest.raises(InputError, match="there are 0 to 4, which `ranklet log` lists"):
        three.restore(5)
    with pytest.raises(InputError, match="an earlier version cannot be written to"):
        WritableBundle(three.at(0))
    with pytest.raises(InputError, match="`at` or a collection"):
        Path(three.at(0))


def list_numbers(bundle: Bundle) -> list[tuple[int, int, int, int, int]]:
    return [
        (each.version, each.documents, each.added, each.replaced, each.deleted)
        for each in bundle.log()
    ]


@pytest.mark.parametrize("name", ["kept", "kept.zip"])
def test_versions_from_before_a_bundle_was_joined_are_kept_on_demand(
    name: str, three: WritableBundle, tmp_path: Path
) -> None:
    path = Path(ranklet.update(three, [document("b", "mice")], target=tmp_path / name))
    bundle, folder = WritableBundle(path), Path(locate_additions(path))
    bundle.add([document("d")]).delete(["a"]).compact(keep=2).add([document("e")])
    assert [each.version for each in bundle.log()] == [3, 2, 1, 0]
    assert found(bundle.at(0)) == ["a", "b", "c"]
    assert found(bundle.at(1)) == ["a", "b", "c", "d"]
    assert found(bundle.at(2)) == ["b", "c", "d"]
    bundle.restore(1)
    assert found(bundle) == found(Bundle(path)) == ["a", "b", "c", "d"]
    assert [each.version for each in bundle.log()] == [4, 3, 2]  # as many as the last time
    bundle.restore(3)
    assert found(bundle) == ["b", "c", "d", "e"]
    assert list(verify(path))
    ranklet.build([document("new")], path, overwrite=True)
    assert [each.version for each in load(path).log()] == [0]  # another bundle's are not its own
    bundle = WritableBundle(path).add([document("newer")])
    assert [each.version for each in bundle.log()] == [1, 0]
    bundle.compact(keep=0)
    assert not folder.exists()
    assert [each.version for each in bundle.log()] == [1]
    with pytest.raises(InputError, match="keep is -1"):
        bundle.compact(keep=-1)


def test_only_so_many_versions_are_kept(
    three: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "VERSIONS", 3)
    monkeypatch.setattr(versions, "AT_ONCE", 4)
    for at in range(8):
        three.add([document(f"n{at}")])
    assert [each.version for each in three.log()] == [8, 7, 6, 5]
    names = {each.name for each in Path(locate_additions(three.path)).glob("*.json")}
    assert names == {LIST, "000005.json", "000006.json", "000007.json"}
    for version in range(5, 9):
        assert len(found(three.at(version))) == 3 + version


def test_refused_documents_are_named_and_the_others_not_written(three: WritableBundle) -> None:
    bad = [document("d"), document("e", year="late"), {"id": "f", "text": 7.5j}]
    with pytest.raises(CollectionError, match=r"documents\[2\]"):
        three.add(bad)
    with pytest.raises(CollectionError, match=r"documents\[1\]: 'year' is 'late', but .* numbers"):
        three.add(bad[:2])
    assert found(three) == ["a", "b", "c"]
    three.add(bad, skip_bad=True)
    assert found(three) == ["a", "b", "c", "d"]
    assert len(three.skipped) == 2
    three.add([document("g", tag="x")])
    with pytest.raises(CollectionError, match="'new' is 5, but the bundle holds flags"):
        three.add([document("h", new=True), document("i", new=5)])
    assert three.rank_ids("mouse", where={"tag": "x"})[0][0] == "g"
    with pytest.raises(InputError, match="no document remains"):
        three.delete(["a", "b", "c", "d", "g"])
    with pytest.raises(InputError, match="have no ids"):
        three.add(["a text"])


def test_documents_with_a_field_too_many_are_left_out(
    three: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MAX_FIELDS", len(three.metadata) + 1)
    given = [document("d", one=1), document("e", two=1), document("f", two=2)]
    three.add(given, skip_bad=True)
    assert (found(three), len(three.skipped)) == (["a", "b", "c", "d"], 2)


def test_what_cannot_be_written_to_is_refused(three: WritableBundle) -> None:
    with pytest.raises(InputError, match="is an address"):
        ranklet.open("https://example.org/x.zip", writable=True)
    with pytest.raises(InputError, match="part of a bundle"):
        ranklet.open(load(three.path).only({}), writable=True)
    with pytest.raises(AttributeError, match="writable=True"):
        load(three.path).add  # type: ignore[attr-defined]  # noqa: B018
    three.add([document("d")])
    other = Path(three.path).with_name("other")
    with pytest.raises(InputError, match="ranklet compact"):
        ranklet.merge([three.path, three.path], other)
    assert found(ranklet.update(three.path, delete=["a"], target=other)) == ["b", "c", "d"]
    assert found(ranklet.update(three.path, delete=["b"])) == ["a", "c", "d"]
    assert load(three.path).additions is None
    assert [each.version for each in load(three.path).log()] == [2, 1]


@pytest.mark.slow
def test_there_are_never_more_than_four_parts(
    three: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    for at in range(40):
        three.add([document(f"n{at}")])
        assert three.additions is not None
        sizes.append(len(three.additions.parts))
    assert max(sizes) <= writing.MOST
    assert len(found(three)) == 43
    assert three.additions is not None
    assert list(verify(three.path))[-1].startswith("addition ")
    monkeypatch.setattr(writing, "LEAST", 20)
    three.add([document("last")])
    assert load(three.path).additions is None  # so many were joined with the base
    assert len(found(three)) == 44


@pytest.mark.parametrize("others", range(3))
def test_a_bundle_is_joined_beside_writers_who_go_first(
    others: int, three: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    three.add([document("d")]).compact(keep=1).add([document("e")])
    real, left = compacting.write_joined, others

    def disturbed(*given: Any) -> None:
        nonlocal left
        if left:
            WritableBundle(three.path).add([document(f"n{left}")])
            left -= 1
        real(*given)

    monkeypatch.setattr(compacting, "write_joined", disturbed)
    compacting.join_beside(three.path)
    joined = load(three.path)
    assert joined.additions is None
    assert found(joined) == sorted(
        ["a", "b", "c", "d", "e", *(f"n{at + 1}" for at in range(others))]
    )
    assert len(joined.log()) == 2
    assert list(verify(three.path))


def test_no_way_of_reading_is_dropped_without_a_word(three: WritableBundle) -> None:
    options = SourceOptions(passage_words=5, overlap_words=2)
    for given in ([document("d")], Source([document("d")])):
        with pytest.raises(InputError, match=r"leave .*options out"):
            three.add(given, options=options)
    assert found(three.change((), ["c"], options=SourceOptions())) == ["a", "b"]


def test_a_write_succeeds_though_what_was_added_cannot_be_joined(
    three: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(writing, "LEAST", 0)
    monkeypatch.setattr(compacting, "write_joined", full)
    three.add([document("d")])
    assert found(three) == found(load(three.path)) == ["a", "b", "c", "d"]
    assert three.additions is not None


def test_a_list_of_another_bundle_or_a_damaged_one(three: WritableBundle, built: "Built") -> None:
    three.add([document("d")])
    assert isinstance(three.path, Path)
    listed = Path(locate_additions(three.path)) / LIST
    text = listed.read_text()
    listed.write_text(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(BundleError, match="sha256 differs"):
        Bundle(three.path)
    listed.write_text(text)
    ranklet.build([document("new")], three.path, overwrite=True)
    assert found(load(three.path)) == ["new"]
    WritableBundle(three.path).add([document("d")])
    assert found(load(three.path)) == ["d", "new"]


@pytest.mark.slow
def test_threads_write_in_turns(three: WritableBundle) -> None:
    def write(number: int) -> None:
        WritableBundle(three.path).add([document(f"t{number}")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert len(found(load(three.path))) == 15


def test_what_is_named_is_on_the_disk_before(
    three: WritableBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = list[str]()
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name.lstrip('.')}")
        sync(descriptor)

    def renamed(self: Path, target: Path) -> Path:
        done.append(f"rename {target.name}")
        return replace(self, target)

    three.add([document("d")])
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    three.add([document("e")])
    zip_, folder = next(each for each in done if each.endswith(".zip")), "sync three.additions"
    renamed_at = done.index(f"rename {LIST}")
    before = {each.split(".json.")[0] for each in done[:renamed_at]}
    assert {zip_, folder, "sync list"} <= before
    assert done[renamed_at + 1 :] == [folder]


# Forks a writer again and again and kills it at its first, second, … change of the file system.
KILLED = """
import os, signal, sys
from pathlib import Path
import ranklet
from ranklet.runtime.rankers.verification import verify

path = Path(sys.argv[1])
CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}

def write_until(killed_at, told):
    count = 0
    def watch(event, arguments):
        nonlocal count
        if event in CHANGES and str(path.parent) in str(arguments[0]):
            count += 1
            if count == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(watch)
    bundle = ranklet.open(path, writable=True)
    for each in ("x", "y"):
        name = f"{each}{killed_at}"
        bundle.add([{"id": name, "text": f"{name} mouse"}])
        os.write(told, f"{name} ".encode())
    os._exit(0)

acknowledged = set()
ranklet.load(path).rank("mouse")
for killed_at in range(1, 1000):
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        write_until(killed_at, told)
    os.close(told)
    status = os.waitpid(child, 0)[1]
    with open(heard, "rb") as file:
        acknowledged |= set(file.read().decode().split())
    there = {id_ for id_, _ in ranklet.load(path).rank_ids("mouse")}
    assert acknowledged <= there, acknowledged - there
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL, status
list(verify(path))
print(killed_at)
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_loses_nothing_that_it_has_acknowledged(
    three: WritableBundle,
) -> None:
    killed = [sys.executable, "-c", KILLED, str(three.path)]
    run = subprocess.run(killed, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 20


@pytest.mark.slow
def test_neither_do_many_that_are_killed_again_and_again(tmp_path: Path) -> None:
    killed = [sys.executable, "-m", "tests.killed_writers", str(tmp_path), "3", "40", "12"]
    run = subprocess.run(killed, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert '"killed": 12' in run.stdout


def test_additions_on_object_storage_are_read_and_seen_at_the_next_look(
    three: WritableBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.zip"
    bundle = WritableBundle(ranklet.update(three, [document("x", "zebra")], target=path))
    folder = Path(locate_additions(path))

    def objects() -> dict[str, bytes]:
        own = folder.iterdir() if folder.is_dir() else ()
        named = {f"/{folder.name}/{each.name}": each.read_bytes() for each in own}
        return {"/b.zip": path.read_bytes(), **named}

    with RangeServer(objects()) as server:
        address = server.address()
        assert found(load(address, cache=tmp_path / "cache")) == ["a", "b", "c"]
        bundle.add([document("d", year=2020)]).delete(["a"])
        server.objects = objects()
        assert found(load(address, cache=tmp_path / "cache")) == ["a", "b", "c"]
        monkeypatch.setattr(ranking, "LOOK_AGAIN", -1.0)
        remote = load(address, cache=tmp_path / "cache")
        assert found(remote) == ["b", "c", "d"]
        assert list(remote.rank("mouse", where={"year": {">": 2001}})) == list(
            bundle.rank("mouse", where={"year": {">": 2001}})
        )
        assert remote.log() == bundle.log()
        assert found(remote.at(0)) == ["a", "b", "c"]
        assert found(remote.at(1)) == ["a", "b", "c", "d"]
        with pytest.raises(InputError, match="is an address"):
            WritableBundle(address)
