import os
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.corpus.building import writer as writer_module
from ranklet.corpus.building.writer import ALIGNMENT, BundleWriter, write_zip
from ranklet.corpus.errors import BuildError
from ranklet.corpus.indexing.packer import packed
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.storage.strings import Strings

if TYPE_CHECKING:
    from tests.conftest import Built


def finish(writer: BundleWriter, **changes: Any) -> Path:
    rankers = {"bm25": RankerEntry("bm25", {})}
    return writer.finish(Manifest(**({"rankers": rankers} | changes)))


def write(target: Path, note: str = "", *, overwrite: bool = False) -> Path:
    with BundleWriter(target, overwrite=overwrite) as writer:
        writer.array("rankers/bm25/x.npy", np.arange(5))
        writer.strings("rankers/bm25/names", Strings.pack(["a", "é"]))
        writer.data("notes/more.json", b"{}")
        return finish(writer, provenance={"note": note})


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture(params=["bundle", "bundle.zip"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def test_what_was_written_reads_back(target: Path) -> None:
    assert write(target) == target
    bundle = BundleFiles(target, check="full")
    assert set(bundle.manifest.files) == {
        "rankers/bm25/x.npy",
        "rankers/bm25/names.npy",
        "rankers/bm25/names.offsets.npy",
        "notes/more.json",
    }
    assert bundle.array("rankers/bm25/x.npy", np.int64, (5,)).tolist() == [0, 1, 2, 3, 4]
    assert list(bundle.strings("rankers/bm25/names", Strings)) == ["a", "é"]
    assert bytes(bundle.file("notes/more.json")) == b"{}"
    assert names(target.parent) == [target.name]


@pytest.mark.parametrize("written", [3, 16, 1 << 24])
def test_arrays_are_written_as_numpy_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    monkeypatch.setattr(writer_module, "_WRITTEN", written)
    arrays: list[NDArray[Any]] = [
        np.arange(7),
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.arange(12, dtype=np.uint64).reshape(3, 4)[:, ::2],
        np.empty((0, 5), np.int8),
        np.array([2.5]),
        packed([np.arange(9)], np.int32),
    ]
    with BundleWriter(tmp_path / "b") as writer:
        for at, values in enumerate(arrays):
            writer.array(f"{at}.npy", values)
        finish(writer)
    for at, values in enumerate(arrays):
        with (tmp_path / "expected.npy").open("wb") as file:
            np.lib.format.write_array(file, np.ascontiguousarray(values), version=(1, 0))
        assert (tmp_path / "b" / f"{at}.npy").read_bytes() == (
            tmp_path / "expected.npy"
        ).read_bytes()


def test_a_name_alone_is_put_into_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert write(Path("here.zip")) == Path("here.zip")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    write(Path(), overwrite=True)  # the folder that we are in: it is empty
    BundleFiles(tmp_path / "there")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_leaving_early_leaves_nothing(target: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with BundleWriter(target) as writer:
            writer.array("rankers/bm25/x.npy", np.arange(5))
            raise error

    with pytest.raises(error):
        fail()
    assert names(target.parent) == []


def test_what_could_not_be_read_back_is_not_written(target: Path) -> None:
    with pytest.raises(BundleError, match="default_pipeline"), BundleWriter(target) as writer:
        finish(writer, provenance={}, pipelines={}, rankers={}, default_pipeline=None)
    assert names(target.parent) == []


@pytest.mark.parametrize("name", ["../x.npy", "/x.npy", "a/../../x.npy", "manifest.json", "", ".x"])
def test_no_file_is_written_outside(target: Path, name: str) -> None:
    with pytest.raises(BundleError, match="not a path inside"), BundleWriter(target) as writer:
        writer.data(name, b"")
    assert names(target.parent) == []


def test_objects_are_never_written(target: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"), BundleWriter(target) as writer:
        writer.array("x.npy", np.array([object()]))


def test_an_existing_bundle_is_kept_unless_overwriting_is_allowed(target: Path) -> None:
    write(target, "first")
    with pytest.raises(BuildError, match="exists; choose another name, or replace it"):
        write(target, "second")
    assert BundleFiles(target).manifest.provenance["note"] == "first"
    write(target, "third", overwrite=True)
    assert BundleFiles(target, check="full").manifest.provenance["note"] == "third"
    assert names(target.parent) == [target.name]


def test_an_open_bundle_keeps_working_after_it_was_replaced(built: "Built", target: Path) -> None:
    copied = Path(target)
    if target.suffix == ".zip":
        write_zip(built.indexed, copied)
    else:
        _copy(built.indexed, copied)
    old = Bundle(copied)
    write(target, overwrite=True)
    assert old.rank("knead dough", pipeline="bm25")[0].id == "bread"


def _copy(source: Path, target: Path) -> Path:
    with BundleWriter(target) as writer:
        bundle = BundleFiles(source)
        writer.copy(bundle)
        return writer.finish(bundle.manifest)


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_bundle_is_left_alone(target: Path, overwrite: bool) -> None:
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(BuildError):
        write(target, overwrite=overwrite)
    assert names(target) == ["thesis.txt"]
    file = target.with_name("thesis.zip")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("thesis.txt", "years of work")
    for each in (file, target / "thesis.txt"):
        before = each.read_bytes()
        with pytest.raises(BuildError):
            write(each, overwrite=overwrite)
        assert each.read_bytes() == before
    assert names(target.parent) == sorted([target.name, "thesis.zip"])


def test_a_folder_may_take_the_place_of_a_zip_and_the_other_way_round(tmp_path: Path) -> None:
    write(tmp_path / "packed.zip")
    (tmp_path / "packed.zip").rename(tmp_path / "bundle")
    write(tmp_path / "bundle", "a folder now", overwrite=True)
    assert (tmp_path / "bundle").is_dir()
    (tmp_path / "bundle").rename(tmp_path / "bundle.zip")
    write(tmp_path / "bundle.zip", "a zip now", overwrite=True)
    assert (tmp_path / "bundle.zip").is_file()
    assert names(tmp_path) == ["bundle.zip"]


@pytest.mark.parametrize("name", ["v1", "v1.zip"])
def test_a_link_stays_and_the_bundle_that_it_leads_to_is_replaced(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path / "all" / name, "first")
    (tmp_path / "current").symlink_to(Path("all") / name)
    write(tmp_path / "current", "second", overwrite=True)
    assert (tmp_path / "current").is_symlink()
    assert BundleFiles(tmp_path / "all" / name).manifest.provenance["note"] == "second"
    assert (tmp_path / "all" / name).is_file() == name.endswith(".zip")
    assert names(tmp_path) == ["all", "current"]
    assert names(tmp_path / "all") == [name]


def put(target: Path, name: str, content: str) -> None:
    """Add a file to a bundle, or replace one of its folder."""
    if target.suffix == ".zip":
        with zipfile.ZipFile(target, "a") as archive:
            archive.writestr(name, content)
    else:
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).write_text(content)


def test_a_bundle_with_other_files_is_left_alone(target: Path) -> None:
    write(target, "first")
    for name in ("notes/a.txt", ".env", "README.md", "src/app.js"):
        put(target, name, "years of work")
    with pytest.raises(BuildError, match=r"would be lost: .*'notes/a\.txt'.* and 1 more; move"):
        write(target, overwrite=True)
    assert names(target.parent) == [target.name]


def test_a_bundle_is_on_the_disk_before_it_takes_its_place(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, rename = os.fsync, Path.replace

    def noted(descriptor: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    def renamed(self: Path, place: Path) -> Path:
        done.append("renamed")
        return rename(self, place)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", renamed)
    write(target)
    at = done.index("renamed")
    synced = {each.partition(".partial-")[2][8:] for each in done[:at]}
    files = {"/manifest.json", "/notes/more.json", "/rankers/bm25/x.npy", "/rankers/bm25", ""}
    assert synced >= ({".zip"} if target.suffix == ".zip" else files)
    assert done[at + 1 :] == [str(target.parent)]


def test_an_empty_folder_may_be_overwritten(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    write(tmp_path / "bundle", overwrite=True)
    BundleFiles(tmp_path / "bundle")


def test_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match="cannot be written"):
        write(tmp_path / "file" / "bundle")


KILLED = """
import sys, time
from pathlib import Path
import numpy as np
from ranklet.corpus.building.writer import BundleWriter
with BundleWriter(sys.argv[1], overwrite=True) as writer:
    for at in range(100):
        writer.array(f"rankers/bm25/{at}.npy", np.arange(5))
        if at == 50:
            print("half way", flush=True)
            time.sleep(60)
"""


# ------------------------------------------------------------------------------ zips


def test_every_array_of_a_zip_begins_at_a_multiple_of_64(built: "Built") -> None:
    raw = built.zipped.read_bytes()
    with zipfile.ZipFile(built.zipped) as archive:
        assert archive.testzip() is None
        for member in archive.infolist():
            at = member.header_offset
            name, extra = (int.from_bytes(raw[at + n : at + n + 2], "little") for n in (26, 28))
            begin = at + 30 + name + extra
            assert begin % ALIGNMENT == 0
            assert raw[begin : begin + member.file_size] == archive.read(member)
            assert member.compress_type == zipfile.ZIP_STORED


def test_the_same_files_make_the_same_zip(built: "Built", tmp_path: Path) -> None:
    write_zip(built.fused, tmp_path / "a.zip")
    later = shutil.copytree(built.fused, tmp_path / "later")
    for path in later.rglob("*"):
        os.utime(path, (0, 0))  # a zip's own dates know nothing finer than two seconds
    write_zip(later, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize(("size", "kind"), [(1 << 16, np.uint16), ((1 << 16) + 1, np.uint32)])
def test_numbers_of_few_documents_take_two_bytes(tmp_path: Path, size: int, kind: type) -> None:
    index = ImpactIndex(
        np.array([0, 1]), np.array([5], np.uint32), np.ones(1, np.float32), np.ones(1, np.float32),
        size,
    )  # fmt: skip
    with BundleWriter(tmp_path / "it.ranklet") as writer:
        writer.index("index/", index)
        (stored,) = tmp_path.rglob("documents.npy")
        assert np.load(stored).dtype == kind


def test_texts_compressed_early_are_those_compressed_late(tmp_path: Path) -> None:
    keys, texts = (Strings.pack(f"{what} {at}" * 20 for at in range(300)) for what in "kt")
    found = []
    for early in (True, False):
        with BundleWriter(tmp_path / "b.ranklet") as writer:
            if early:
                writer.compress_early(texts, keys)
            writer.compressed("texts", texts, keys)
            found.append({path.name: path.read_bytes() for path in writer._folder.iterdir()})
    assert found[0] == found[1]
    assert len(found[0]) == 3
