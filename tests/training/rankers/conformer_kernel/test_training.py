"""Training a Conformer-Kernel: what it learns from, that it learns, and that it goes on."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kinds import tiny_options

from ranklet.commands import main
from ranklet.commands.train import FELL_SHORT
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel

OPTIONS = tiny_options("conformer_kernel", epochs=1)


def train(collection: Collection, architecture: str = "ndrm3", **changes: Any) -> Checkpoint:
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    settings = ConformerKernelSettings(architecture=architecture)
    options = replace(OPTIONS, settings=settings, **changes)
    return conformer_kernel.train(collection, queries, dev, options)


# ------------------------------------------------------------------------------------ the data


# -------------------------------------------------------------------------------- the training


@pytest.fixture(scope="module")
def learned(tiny_collection: Collection) -> Checkpoint:
    return train(tiny_collection, epochs=30)


def test_it_learns_by_which_other_words_people_ask(learned: Checkpoint) -> None:
    course = [each["value"] for each in learned.training["evaluations"]]
    assert learned.training["best"] > course[0] + 0.2
    assert learned.settings.tf_mean != 1


@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2"])
def test_every_architecture_trains(architecture: str, tiny_collection: Collection) -> None:
    found = train(tiny_collection, architecture)
    model = conformer_kernel.load(found)
    assert model.network.architecture == found.settings.architecture == architecture
    assert (model.latent is None) == (architecture == "ndrm2")


def test_exact_matching_begins_as_bm25_or_as_in_the_authors_code(
    tiny_collection: Collection,
) -> None:
    ours, theirs = (
        train(
            tiny_collection,
            "ndrm2",
            learning_rate=1e-9,
            network=replace(OPTIONS.network, form=form),
        ).weights
        for form in ("ranklet", "authors")
    )
    for name, first in (("explicit.weight", 1), ("explicit.bias", 0)):
        assert theirs[name] == pytest.approx(first, abs=1e-6)
        assert ours[name] != pytest.approx(first, abs=1e-2)


def test_the_command_trains_and_cleans_up(
    tiny_collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = tmp_path / "collection"
    shutil.copytree(tiny_collection.path, collection)
    (collection / "queries.log.jsonl").write_text('{"_id": "seen", "text": "a motor"}\n', "utf-8")
    document = next(iter(tiny_collection.documents())).id
    (collection / "qrels.log.txt").write_text(f"seen 0 {document} 1\n", "utf-8")
    output = tmp_path / "ck"
    arguments = ["train", "conformer_kernel", str(collection), "-o", str(output)]
    arguments += ["--split", "train", "--tune", "dev", "--architecture", "ndrm3"]
    arguments += ["--field", "lemmas"]
    arguments += ["--hidden", "16", "--blocks", "1", "--heads", "4", "--groups", "4"]
    arguments += ["--width", "3", "--kernels", "5", "--pool-window", "8", "--pool-stride", "4"]
    arguments += ["--epochs", "1", "--batch", "8", "--lr", "0.01", "--device", "cpu", "--seed", "1"]
    arguments += ["--terms", "40", "--candidates", "50", "--floor", "0.4", "--least", "1"]
    arguments += ["--impacts", "float16"]
    arguments += ["--max-query-tokens", "9", "--max-document-tokens", "50"]
    assert main([*arguments, "--query-log", "train"]) == 1
    assert "are in the query log 'train'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--negatives", "random"])
    assert main([*arguments, "--query-log", "log"]) == FELL_SHORT  # by its few steps
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ck", "collection"]
    found = read_checkpoint(output)
    settings = found.settings
    assert (settings.field, settings.terms, settings.impacts) == ("lemmas", 40, "float16")
    assert (settings.candidates, settings.floor) == (50, 0.4)
    assert (settings.max_query_terms, settings.max_document_terms) == (9, 50)
    network = conformer_kernel.load(found).network
    assert (network.layers, network.window, network.stride) == (1, 8, 4)
    assert "motor" in found.tokens  # a word of queries, from the query log
