"""Writers that are killed, at many points, and what the next writer makes of what they left."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.corpus.building.test_writer import names, write

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.writing.leftovers import clean_up

# Forks a writer again and again and kills it at its first, second, … change of the file system,
# until one lives to the end. Between two of them the bundle is read, and the next writer runs.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from tests.corpus.building.test_writer import names, write
from ranklet.runtime.writing import replacing
from ranklet.corpus.building import writer as writing
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.bundles.files import BundleFiles

target, exchanges, before = Path(sys.argv[1]), sys.argv[2] == "exchange", sys.argv[3] == "before"
if not exchanges:
    replacing._exchange = lambda *_: False
CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}

def note():
    return BundleFiles(target, check="full").manifest.provenance["note"]

def write_until(killed_at):
    count = 0
    def watch(event, arguments):
        nonlocal count
        changes = event in CHANGES and str(target.parent) in str(arguments[0])
        if changes or event == "ctypes.dlsym":
            count += 1
            if count == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(watch)
    write(target, "second", overwrite=True)
    os._exit(0)

missing = 0
for killed_at in range(1, 1000):
    if target.exists():
        (shutil.rmtree if target.is_dir() else os.remove)(target)
    if before:
        write(target, "first")
    child = os.fork()
    if not child:
        write_until(killed_at)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL, status
    if target.exists():
        assert note() in ("first", "second")
    elif before:
        missing += 1
        try:
            write(target, "third")  # puts the old bundle back, and then there is one already
        except writing.BuildError as error:
            assert "exists" in str(error), error
        assert note() == "first"
    write(target, "third", overwrite=True)
    assert note() == "third"
    assert names(target.parent) == [target.name], names(target.parent)
print(killed_at, missing)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exchange", "rename"])
@pytest.mark.parametrize("there", ["before", "nothing"])
def test_a_writer_may_be_killed_at_any_point(tmp_path: Path, how: str, there: str) -> None:
    for name in ("bundle", "bundle.zip"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        killed = [sys.executable, "-c", KILLED, str(folder / name), how, there]
        run = subprocess.run(killed, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        points, missing = map(int, run.stdout.split())
        assert points > 20
        # Only where a folder is replaced by two renames, there is a moment without a bundle.
        two_renames = how == "rename" and there == "before" and name == "bundle"
        assert (missing > 0) == two_renames


def test_what_belongs_to_another_bundle_or_to_nobody_is_left_alone(tmp_path: Path) -> None:
    others = [".other.partial-00000000", ".bundle.partial-00000000", ".bundle.resume", "notes.txt"]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / ".other.lock-00000000").touch()
    (tmp_path / ".bundle.lock-not-ours").touch()
    clean_up(tmp_path / "bundle")
    assert names(tmp_path) == sorted([*others, ".other.lock-00000000", ".bundle.lock-not-ours"])


def test_the_only_bundle_is_kept_if_it_cannot_be_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "bundle"
    write(tmp_path / ".bundle.old-00000000", "first")
    (tmp_path / ".bundle.lock-00000000").touch()  # nobody holds it

    def refused(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refused)
        clean_up(target)
    assert not target.exists()
    clean_up(target)
    assert BundleFiles(target).manifest.provenance["note"] == "first"
    assert names(tmp_path) == ["bundle"]
