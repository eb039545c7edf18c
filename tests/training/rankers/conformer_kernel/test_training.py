"""Training a Conformer-Kernel: what it learns from, that it learns, and that it goes on."""

from dataclasses import replace
from typing import Any

import pytest
from tests.kinds import tiny_options

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel

pytestmark = pytest.mark.slow

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


def test_exact_matching_begins_as_bm25(tiny_collection: Collection) -> None:
    found = train(tiny_collection, "ndrm2", learning_rate=1e-9).weights
    for name, built in (("explicit.weight", 1), ("explicit.bias", 0)):
        assert found[name] != pytest.approx(built, abs=1e-2)
