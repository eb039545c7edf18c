"""Damaged and hostile folders, zips and manifests: all are rejected by the fast check of `load`."""

import io
import json
import os
import random
import shutil
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.damage import change_manifest

from ranklet.corpus.building.writer import write_zip
from ranklet.runtime import Bundle, BundleError
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.verification import verify

if TYPE_CHECKING:
    from tests.conftest import Built

Raw = dict[str, Any]
FORMS = "text/forms.npy"


def rejected(path: Path) -> str:
    """Check that a bundle is rejected at once, by every check; return the message."""
    with pytest.raises(BundleError) as error:
        Bundle(path)
    with pytest.raises(BundleError):
        Bundle(path, check="full")
    with pytest.raises(BundleError):
        list(verify(path))
    return str(error.value)


# ------------------------------------------------------------------------------ the manifest


def changed(victim: Path, change: Callable[[Raw], object]) -> Path:
    return change_manifest(victim, change)


def listing(path: str) -> Callable[[Raw], object]:
    """List one file more."""
    return lambda raw: raw["files"].update({path: {"bytes": 0, "sha256": "0" * 64}})


MANIFESTS: dict[str, Callable[[Raw], object]] = {
    "another version": lambda raw: raw.update(format_version=8),
    "an unknown kind": lambda raw: raw["rankers"]["bm25"].update(kind="bm26"),
    "a kind that is a path": lambda raw: raw["rankers"]["bm25"].update(kind="../evil"),
    "a kind that is a module": lambda raw: raw["rankers"]["bm25"].update(kind="os"),
    "a ranker that is a path": lambda raw: raw["rankers"].update({"../x": raw["rankers"]["bm25"]}),
    "a file that is not there": listing("text/more.npy"),
    "a size that lies": lambda raw: raw["files"][FORMS].update(bytes=1),
    "a size past 64 bits": lambda raw: raw["files"][FORMS].update(bytes=1 << 80),
    "a size below zero": lambda raw: raw["files"][FORMS].update(bytes=-1),
    "a file that is not listed": lambda raw: raw["files"].pop(FORMS),
    "a path that leads out": listing("../x"),
    "a path from the root": listing("/etc/passwd"),
    "a path that leads out in the middle": listing("a/../../b"),
    "a path with backslashes": listing("..\\x"),
    "a path with a NUL": listing("a\0b"),
    "an empty path": listing(""),
    "a path that is the manifest": listing("manifest.json"),
    "a pipeline of a ranker that is not there": lambda raw: raw["rankers"].pop("model1"),
    "a default that is not there": lambda raw: raw.update(default_pipeline="x"),
    "weights without end": lambda raw: raw["pipelines"]["linear"][3].update(weights=[10**400] * 3),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_lies_is_rejected(victim: Path, name: str) -> None:
    rejected(changed(victim, MANIFESTS[name]))
    packed = victim.with_name("victim.zip")
    write_zip(victim, packed)
    rejected(packed)


def test_a_flipped_bit_of_the_manifest_is_noticed(victim: Path) -> None:
    path = victim / "manifest.json"
    whole = path.read_bytes()
    rng = random.Random(0)
    for _ in range(300):
        flipped = bytearray(whole)
        flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(BundleError):
            BundleFiles(victim, check="full")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not valid JSON"),
        (b"{}", "format_version is missing"),
        (b"[]", "must be a JSON object"),
        (b"NaN", "not a JSON number"),
        (b'{"format_version": NaN}', "not a JSON number"),
        (b'{"format_version": 1, "format_version": 1}', "stands twice"),
        (b"[" * 1_000_000, "not valid JSON"),
        (b'{"a":' * 200_000, "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b'"' + b"x" * (16 << 20) + b'"', "at most 16777216"),
    ],
    ids=range(10),
)
def test_what_is_no_manifest_is_rejected(victim: Path, raw: bytes, message: str) -> None:
    (victim / "manifest.json").write_bytes(raw)
    assert message in rejected(victim)


SETTINGS: dict[str, Raw] = {
    "an unknown setting": {"k9": 1},
    "a number as text": {"k1": "0.9"},
    "no number": {"k1": None},
    "a truth value": {"k1": True},
    "below zero": {"k1": -1},
    "past the end": {"b": 1.5},
    "a huge whole number": {"k1": 10**400},
    "an unknown field": {"field": "stems"},
    "a field that is no text": {"field": ["lemmas"]},
    "a setting that is no name": {"__class__": 1},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_wrong_settings_are_rejected_by_the_first_use_and_by_verify(
    victim: Path, name: str
) -> None:
    changed(victim, lambda raw: raw["rankers"]["bm25"]["settings"].update(SETTINGS[name]))
    with pytest.raises(BundleError, match=r"rankers\.bm25"):
        Bundle(victim).rank("dough")
    with pytest.raises(BundleError, match=r"rankers\.bm25"):
        list(verify(victim))


@pytest.mark.parametrize("documents", [41, 43, (1 << 31) - 1])
def test_a_wrong_number_of_documents_is_rejected_by_the_first_use_and_by_verify(
    victim: Path, documents: int
) -> None:
    changed(victim, lambda raw: raw.update(documents=documents))
    with pytest.raises(BundleError):
        Bundle(victim).rank("dough")
    with pytest.raises(BundleError):
        list(verify(victim))


# ------------------------------------------------------------------------------ the folder


def linked(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


def outside(victim: Path) -> Path:
    """Return a copy of a file that lies outside of the bundle."""
    return Path(shutil.copyfile(victim / FORMS, victim.with_name("outside.npy")))


def bound(path: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def steps(*each: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return what does several things to a bundle."""
    return lambda path: [step(path) for step in each]


def drop(path: Path) -> None:
    (path / FORMS).unlink()


FOLDERS: dict[str, Callable[[Path], object]] = {
    "a file is missing": drop,
    "a file is there that is not listed": lambda path: (path / "text/more.npy").touch(),
    "a hidden file": lambda path: (path / ".more").touch(),
    "a file is cut short": lambda path: os.truncate(path / FORMS, 200),
    "a file is longer": lambda path: os.truncate(path / FORMS, 2_000_000),
    "a file is empty": lambda path: os.truncate(path / FORMS, 0),
    "a file is a folder": steps(drop, lambda path: (path / FORMS).mkdir()),
    "a file is a pipe": steps(drop, lambda path: os.mkfifo(path / FORMS)),
    "a file is a socket": lambda path: bound(path / FORMS),
    "a link leads out": lambda path: linked(path / FORMS, outside(path)),
    "a link leads to the root": lambda path: linked(path / FORMS, Path("/etc/hostname")),
    "a link leads out by dots": steps(
        outside, lambda path: linked(path / FORMS, Path("../../outside.npy"))
    ),
    "a link leads to a device": lambda path: linked(path / FORMS, Path("/dev/zero")),
    "a link leads to itself": lambda path: linked(path / FORMS, path / FORMS),
    "a link leads to nothing": lambda path: linked(path / FORMS, path / "text/nothing"),
    "a folder is a link that leads out": steps(
        lambda path: shutil.move(path / "text", path.with_name("text")),
        lambda path: (path / "text").symlink_to(path.with_name("text")),
    ),
    "the manifest is a link that leads out": steps(
        lambda path: shutil.copyfile(path / "manifest.json", path.with_name("m.json")),
        lambda path: linked(path / "manifest.json", path.with_name("m.json")),
    ),
    "the manifest is a pipe": steps(
        lambda path: (path / "manifest.json").unlink(),
        lambda path: os.mkfifo(path / "manifest.json"),
    ),
    "the manifest is missing": lambda path: (path / "manifest.json").unlink(),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_damaged_folder_is_rejected(victim: Path, name: str) -> None:
    FOLDERS[name](victim)
    rejected(victim)


def test_a_link_inside_the_bundle_is_followed(victim: Path) -> None:
    shutil.copyfile(victim / FORMS, victim / "text/copy.npy")
    linked(victim / FORMS, victim / "text/copy.npy")
    entry = json.loads((victim / "manifest.json").read_text("utf-8"))["files"][FORMS]
    changed(victim, lambda raw: raw["files"].update({"text/copy.npy": entry}))
    assert len(Bundle(victim, check="full").rank("dough")) > 0


# ------------------------------------------------------------------------------ the zip


def packed(
    victim: Path,
    *,
    compress: int = zipfile.ZIP_STORED,
    more: Callable[[zipfile.ZipFile], object] = lambda _: None,
) -> Path:
    path = victim.with_name("victim.zip")
    with zipfile.ZipFile(path, "w", compress) as archive:
        for each in sorted(victim.rglob("*")):
            if each.is_file():
                archive.write(each, each.relative_to(victim).as_posix())
        more(archive)
    return path


def entry_of(raw: bytearray, name: str) -> int:
    """Return where the entry of a file begins in the central directory of a zip."""
    at = raw.rindex(name.encode()) - 46
    assert raw[at : at + 4] == b"PK\x01\x02"
    return at


def with_entry(offset: int, form: str, value: int) -> Callable[[Path], Path]:
    """Write a number into the central entry of a member."""

    def make(victim: Path) -> Path:
        path = packed(victim)
        raw = bytearray(path.read_bytes())
        struct.pack_into(form, raw, entry_of(raw, FORMS) + offset, value)
        path.write_bytes(raw)
        return path

    return make


def twice(victim: Path) -> Path:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return packed(victim, more=lambda zipped: zipped.writestr(FORMS, b"another"))


def bomb(victim: Path) -> Path:
    """Return a zip of a few kilobytes whose member would swell to 50 megabytes."""
    changed(victim, lambda raw: raw["files"][FORMS].update(bytes=50_000_000))
    (victim / FORMS).unlink()
    path = packed(victim)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FORMS, bytes(50_000_000))
    return path


def cut(share: float) -> Callable[[Path], Path]:
    def make(victim: Path) -> Path:
        path = packed(victim)
        os.truncate(path, int(path.stat().st_size * share))
        return path

    return make


def moved(victim: Path) -> Path:
    """Return a zip in which two members of one size have changed places."""
    path = packed(victim)
    raw = bytearray(path.read_bytes())
    first, second = (entry_of(raw, f"documents/{name}.npy") + 42 for name in ("words", "texts"))
    raw[first : first + 4], raw[second : second + 4] = (
        raw[second : second + 4],
        raw[first : first + 4],
    )
    path.write_bytes(raw)
    return path


def empty(path: Path) -> Path:
    with zipfile.ZipFile(path, "w"):
        return path


ZIPS: dict[str, Callable[[Path], Path]] = {
    "members are deflated": lambda path: packed(path, compress=zipfile.ZIP_DEFLATED),
    "members are compressed by bzip2": lambda path: packed(path, compress=zipfile.ZIP_BZIP2),
    "members are compressed by LZMA": lambda path: packed(path, compress=zipfile.ZIP_LZMA),
    "a bomb": bomb,
    "a member is there twice": twice,
    "a member is there that is not listed": lambda path: packed(
        path, more=lambda zipped: zipped.writestr("more", b"")
    ),
    "a name leads out": lambda path: packed(
        path, more=lambda zipped: zipped.writestr("../more", b"")
    ),
    "a name from the root": lambda path: packed(
        path, more=lambda zipped: zipped.writestr("/etc/more", b"")
    ),
    "a member is marked as encrypted": with_entry(8, "<H", 1),
    "a member is marked as deflated": with_entry(10, "<H", 8),
    "a member of an unknown method": with_entry(10, "<H", 77),
    "a member is larger than the zip": with_entry(24, "<I", 0x7FFFFFFF),
    "a member has another size": with_entry(24, "<I", 100),
    "a member lies past the end": with_entry(42, "<I", 0x7FFFFFFF),
    "a member lies at the end": lambda path: with_entry(42, "<I", packed(path).stat().st_size)(
        path
    ),
    "a member lies inside of another": with_entry(42, "<I", 77),
    "members have changed places": moved,
    "a member needs a later version": with_entry(6, "<H", 99),
    "the name is longer than the entry": with_entry(28, "<H", 0xFFFF),
    "cut in half": cut(0.5),
    "cut near the end": cut(0.999),
    "cut to nothing": cut(0),
    "no zip": lambda path: Path(shutil.copyfile(path / FORMS, path.with_name("forms.zip"))),
    "an empty zip": lambda path: empty(path / "empty.zip"),
    "a folder within": lambda path: packed(path.parent),
}


@pytest.mark.parametrize("name", ZIPS)
def test_a_damaged_zip_is_rejected(victim: Path, name: str) -> None:
    rejected(ZIPS[name](victim))


@settings(
    max_examples=settings().max_examples * 3 // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_changed_bytes_of_a_zips_directory_are_damage_or_harmless(
    built: "Built", tmp_path: Path, data: st.DataObject
) -> None:
    raw = bytearray(built.zipped.read_bytes())
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        begin = archive.start_dir
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(begin, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "fuzzed.zip"
    path.write_bytes(raw)
    try:
        found = Bundle(path, check="full")
    except BundleError:
        return
    assert len(found.rank("dough")) > 0  # the sha256 of every file is right all the same
