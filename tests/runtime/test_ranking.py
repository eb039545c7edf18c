"""Loading a bundle: once per path, and again after it was replaced."""

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

import ranklet
from ranklet import runtime
from ranklet.runtime import Bundle, BundleError, InputError, ranking

if TYPE_CHECKING:
    from tests.conftest import Built


def test_loading_twice_gives_the_same_object(
    built: "Built", monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runtime.load(built.fused)
    assert runtime.load(str(built.fused)) is first
    assert runtime.load(built.fused.parent / "." / built.fused.name) is first
    monkeypatch.chdir(built.fused.parent)
    assert runtime.load(built.fused.name) is first
    assert runtime.load(built.zipped) is not first


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_a_bundle_that_was_replaced_is_loaded_again(
    built: "Built", tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"bundle{suffix}"
    sources = (built.zipped, built.zipped) if suffix else (built.indexed, built.fused)
    copy_to = shutil.copyfile if suffix else shutil.copytree
    copy_to(sources[0], path)
    first = runtime.load(path)
    hits = list(first.rank("dough", pipeline="bm25"))
    path.rename(tmp_path / "old")
    copy_to(sources[1], path)
    second = runtime.load(path)
    assert second is not first
    assert runtime.load(path) is second
    # Who holds the old one goes on with it.
    assert list(first.rank("dough", pipeline="bm25")) == hits
    assert list(second.rank("dough", pipeline="bm25")) == hits


def test_the_environment_names_the_bundle(built: "Built", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE", str(built.fused))
    wanted = list(runtime.rank("dough", bundle=built.fused))
    assert list(runtime.rank("dough")) == wanted
    assert list(runtime.rank_batch(["dough"])[0]) == wanted
    assert runtime.score("dough", ["dough"])[0] > 0
    for value in ("", None):
        if value is None:
            monkeypatch.delenv("RANKLET_BUNDLE")
        else:
            monkeypatch.setenv("RANKLET_BUNDLE", value)
        with pytest.raises(InputError, match=r"no bundle is given.*RANKLET_BUNDLE"):
            runtime.rank("dough")
    with pytest.raises(InputError, match="no bundle is given"):
        runtime.load("")


def file(path: Path, text: str) -> Path:
    (path / "file").write_text(text)
    return path / "file"


def pipe(path: Path) -> Path:
    os.mkfifo(path / "pipe")
    return path / "pipe"


def loop(path: Path) -> Path:
    (path / "loop").symlink_to(path / "loop")
    return path / "loop"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "nothing", "no bundle at"),
        (lambda path: path / "a\0b", "no bundle at|cannot be read"),
        (lambda path: path / ("x" * 5000), "cannot be read"),
        (lambda path: path, "has no manifest.json, so it is not a bundle"),
        (lambda path: file(path, "text"), "nor a zip"),
        (lambda path: file(path, ""), "nor a zip"),
        (pipe, "neither a folder nor a file"),
        (loop, "no bundle|cannot be"),
    ],
    ids=["missing", "nul", "long", "empty folder", "text", "empty file", "pipe", "loop"],
)
def test_what_is_no_bundle_is_refused(
    tmp_path: Path, make: Callable[[Path], Path], message: str
) -> None:
    path = make(tmp_path)
    with pytest.raises(BundleError, match=message):
        runtime.load(path)
    with pytest.raises(BundleError, match=message):
        runtime.load(path, check="full")


@pytest.mark.parametrize("wrong", [7, b"bundle", ["bundle"]])
def test_what_is_no_path_and_no_address_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="bundle must be a path"):
        runtime.load(wrong)
    with pytest.raises(InputError, match="cache must be a path"):
        runtime.load("bundle", cache=wrong)
    with pytest.raises(InputError, match="collection must be an address"):
        runtime.load("bundle", collection=wrong)


@pytest.mark.parametrize("check", ["", "none", None, True])
def test_an_unknown_check_is_refused(built: "Built", check: Any) -> None:
    with pytest.raises(InputError, match="allowed are fast, full"):
        runtime.load(built.fused, check=check)


def test_a_pickled_bundle_is_its_path(built: "Built", monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = runtime.load(built.fused)
    content = pickle.dumps(bundle)
    assert len(content) < 1000
    monkeypatch.chdir("/")
    assert pickle.loads(content) is bundle  # noqa: S301 (our own)


def test_a_pickled_ranking_needs_no_bundle(built: "Built", tmp_path: Path) -> None:
    path = shutil.copytree(built.fused, tmp_path / "moved")
    ranking = Bundle(path).rank("dough", explain=True)
    content = pickle.dumps(ranking)
    shutil.rmtree(path)
    assert b"moved" not in content  # an address may have a signature
    assert pickle.loads(content) == ranking  # noqa: S301 (our own)


def test_reranking_takes_a_bundle_or_its_path_and_returns_all_texts(built: "Built") -> None:
    texts = ["a mouse", "knead the dough", "water"]
    ranking = runtime.rerank("how to knead dough", texts, model=built.fused)
    assert sorted(hit.index for hit in ranking) == [0, 1, 2]
    assert ranking[0].index == 1
    again = runtime.rerank("how to knead dough", texts, model=runtime.load(built.fused), k=1)
    assert [hit.text for hit in again] == ["knead the dough"]
    loaded = runtime.load(built.fused)
    found = ranklet.rank("dough", bundle=loaded)
    assert found.hits == ranklet.rank("dough", bundle=built.fused).hits
    assert runtime.score("dough", texts, bundle=loaded).shape == (3,)
    with pytest.raises(InputError, match="texts must be a list, not str"):
        runtime.rerank("dough", "one text", model=built.fused)


def test_the_package_has_the_functions_that_most_people_need(built: "Built") -> None:
    assert ranklet.load(built.fused) is runtime.load(built.fused)
    assert ranklet.rank is runtime.rank
    assert ranklet.rerank is runtime.rerank
    assert {"build", "load", "rank", "rerank"} <= set(dir(ranklet))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ranklet.nothing  # noqa: B018


def test_a_process_that_loads_many_bundles_keeps_the_last_that_were_asked_for(
    built: "Built", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "KEPT", 2)
    monkeypatch.setattr(ranking, "_loaded", {})
    paths = [shutil.copytree(built.fused, tmp_path / name) for name in "abc"]
    first, second = (runtime.load(path) for path in paths[:2])
    wanted = list(second.rank("dough"))
    assert runtime.load(paths[0]) is first
    third = runtime.load(paths[2])
    assert list(third.rank("dough")) == wanted
    assert runtime.load(paths[0]) is first
    assert list(second.rank("dough")) == wanted  # whoever holds it goes on with it
    assert runtime.load(paths[1]) is not second
    files = ref(third.files)
    del third
    assert files() is None  # its files are closed, and wait for no collection of garbage


def test_a_bundle_stands_for_its_path(built: "Built") -> None:
    bundle = ranklet.load(built.indexed)
    assert Path(bundle) == built.indexed
    assert (str(bundle), os.fspath(bundle)) == (str(built.indexed),) * 2
    assert ranklet.load(bundle) is bundle
    part = bundle.only({})
    with pytest.raises(InputError, match="ranks other documents than"):
        os.fspath(part)
    assert ranklet.load(part) is part


@pytest.mark.parametrize("function", [runtime.rank, runtime.score])
def test_a_bundle_in_the_place_of_texts_is_told_where_it_belongs(
    function: Any, built: "Built"
) -> None:
    for given in (str(built.indexed), built.indexed, ranklet.load(built.indexed), "one text"):
        with pytest.raises(InputError, match=r"pass a bundle by its name, \w+\('dough', bundle='"):
            function("dough", given)


def test_signs_and_typos_are_read_as_the_keywords_say(built: "Built") -> None:
    typed = "dougg -mouse knea*"
    wanted = runtime.rank(ranklet.Query.parse(typed, typos=True), bundle=built.indexed)
    assert wanted.corrections == {"dougg": "dough"}
    assert runtime.rank(typed, bundle=built.indexed, syntax=True, typos=True).hits == wanted.hits
    (batch,) = runtime.rank_batch([typed], bundle=built.indexed, syntax=True, typos=True)
    assert batch.hits == wanted.hits
    own = ranklet.load(built.indexed)
    with pytest.raises(InputError, match="looked up in the collection"):
        own.rank(typed, ["dough"], syntax=True)
