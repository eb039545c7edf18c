"""A collection that was indexed in shards equals one that was indexed at once, byte for byte."""

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.distributed import RAY, InProcess, in_process
from tests.models import transformer_folder
from tests.updates import SPLIT, WHOLE, changes, first_records, held, seeded

from ranklet.corpus import index
from ranklet.corpus.distributed import shards
from ranklet.corpus.distributed.options import LOCAL
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.update import update
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built

__all__ = ["in_process"]  # a fixture
Records = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MOST_DOCUMENTS", 3)


def mixed(rng: random.Random) -> Records:
    """Return documents with a field of numbers, of which the last is a text."""
    records = first_records(rng, 14)
    for at, each in enumerate(records):
        each["mixed"] = at + 0.0 if at < 13 else "x"
    return records


def provenance(bundle: Path) -> Any:
    return BundleFiles(bundle).manifest.provenance


@pytest.mark.parametrize("options", [WHOLE, SPLIT])
def test_a_build_equals_that_of_one_machine(
    options: SourceOptions, in_process: InProcess, tmp_path: Path
) -> None:
    records = mixed(seeded(1))
    here = Path(build(Source(records, options), tmp_path / "here", title_boost=2))
    there = Path(build(Source(records, options), tmp_path / "there", title_boost=2, engine=RAY))
    assert held(there) == held(here)
    assert held(there)["metadata"]["mixed"] == "string"
    assert provenance(there) == provenance(here)
    assert len(in_process.given) == 5
    assert not (tmp_path / ".there.resume").exists()


@pytest.mark.parametrize(
    "words", [{"language": "de"}, {"language": "auto"}, {"normaliser": "none"}]
)
@pytest.mark.usefixtures("in_process")
def test_words_of_other_languages_are_as_on_one_machine(
    words: dict[str, Any], tmp_path: Path
) -> None:
    german = [{"id": str(at), "text": f"Das Haus und die Häuser der Stadt {at}"} for at in range(5)]
    french = [{"id": f"f{at}", "text": f"Les maisons de la ville {at}"} for at in range(5)]
    here = Path(build([*german, *french], tmp_path / "here", **words))
    assert held(Path(build([*german, *french], tmp_path / "there", engine=RAY, **words))) == held(
        here
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("in_process")
def test_updates_equal_those_of_one_machine(seed: int, built: "Built", tmp_path: Path) -> None:
    rng = seeded(seed)
    records = mixed(rng)
    here = Path(index_bundle(built.exported, Source(records, SPLIT), tmp_path / "here"))
    there = Path(shutil.copytree(here, tmp_path / "there"))
    for change in changes(records, rng, 4):
        for path, engine in ((here, LOCAL), (there, RAY)):
            add = Source(change.add, SPLIT) if change.add else None
            update(path, add, delete=change.delete, engine=engine)
        assert held(there) == held(here)


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_a_model_is_exported_once_and_its_vectors_come_from_shards(tmp_path: Path) -> None:
    records = first_records(seeded(5), 10)
    model = transformer_folder(tmp_path / "encoder")
    export = ExportOptions(variants=("fp32",))
    found = []
    for name, engine in (("here", LOCAL), ("there", RAY)):
        source = Source(records, SPLIT)
        path = Path(build(source, tmp_path / name, models=[model], export=export, engine=engine))
        found.append(held(path))
        assert found[-1].pop("rankers/encoder/report.json")  # which says how long the proof took
    assert found[0] == found[1]


@pytest.mark.slow
def test_finished_shards_are_not_indexed_again(
    in_process: InProcess, built: "Built", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, target = mixed(seeded(2)), tmp_path / "there"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(index, "write_indexed", killed)
        with pytest.raises(KeyboardInterrupt):
            index_bundle(built.exported, Source(records, SPLIT), target, engine=RAY)
    kept = sorted((tmp_path / ".there.resume" / "shards").iterdir())
    assert len(kept) == len(in_process.given) == 5
    kept[0].unlink()
    kept[1].write_bytes(kept[1].read_bytes()[:-100])
    records[-1] = {**records[-1], "text": "another text"}
    index_bundle(built.exported, Source(records, SPLIT), target, engine=RAY)
    assert 5 + 2 <= len(in_process.given) <= 5 + 3  # the last shard may be one of the two
    here = Path(index_bundle(built.exported, Source(records, SPLIT), tmp_path / "here"))
    assert held(target) == held(here)
    assert not (tmp_path / ".there.resume").exists()
