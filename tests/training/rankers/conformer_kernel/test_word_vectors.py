"""Embeddings begin with the vectors of a file in the text form of GloVe or word2vec."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.kinds import tiny_options

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.conformer_kernel.word_vectors import begin_with
from ranklet.training.rankers.tk import training as tk

GLOVE = "the 1 2 -3\napples .5 1e-1 0\nold . man 7 8 9\nquiet 4 4 4\n"
TERMS = ("here", "appl", "quiet")  # stems


def written(folder: Path, text: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("header", ["", "4 3\n"])
def test_terms_have_the_vectors_of_their_words(
    header: str, tiny_analysed: AnalysedCollection, tmp_path: Path
) -> None:
    vocabulary = tiny_analysed.analyzer.vocabulary
    embedding = torch.nn.Embedding(FIRST + len(TERMS), 3)
    before = embedding.weight.detach().clone()
    path = written(tmp_path, header + GLOVE)
    assert begin_with(embedding, path, TERMS, vocabulary, "lemmas") == 2
    found = embedding.weight.detach().numpy()
    given = np.array([[0.5, 0.1, 0.0], [4.0, 4.0, 4.0]])
    np.testing.assert_allclose(found[FIRST + 1 :], given, rtol=1e-6)
    scale = float(given.std())
    np.testing.assert_allclose(found[: FIRST + 1], before[: FIRST + 1] * scale, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "has no vectors"),
        ("quiet\n", "has no vectors"),
        ("quiet 1 2\n", "have 2 numbers, and the embeddings 3; give --hidden 2"),
        ("zork 1 2 3\n", "none of the 1 words"),
        ("zork 1 2 3\nquiet 1 two 3\n", "line 2 of .* is not a word and 3 numbers"),
        ("zork 1 2 3\nquiet 1 nan 3\n", "line 2 of"),
        ("zork 1 2 3\nquiet 1\n", "line 2 of"),
    ],
)
def test_what_cannot_be_used_is_named(
    text: str, fault: str, tiny_analysed: AnalysedCollection, tmp_path: Path
) -> None:
    path, vocabulary = written(tmp_path, text), tiny_analysed.analyzer.vocabulary
    with pytest.raises(InputError, match=fault):
        begin_with(torch.nn.Embedding(5, 3), path, TERMS, vocabulary, "lemmas")


def test_a_missing_file_is_named(tiny_analysed: AnalysedCollection, tmp_path: Path) -> None:
    vocabulary = tiny_analysed.analyzer.vocabulary
    with pytest.raises(InputError, match=r"none\.txt' cannot be read"):
        begin_with(torch.nn.Embedding(5, 3), tmp_path / "none.txt", TERMS, vocabulary, "lemmas")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "train"), [("conformer_kernel", conformer_kernel), ("tk", tk)])
def test_a_training_begins_with_them(
    kind: str, train: object, tiny_collection: Collection, tmp_path: Path
) -> None:
    splits = read_split(tiny_collection, "train"), read_split(tiny_collection, "dev")
    path = written(tmp_path, "quiet " + " ".join(["4"] * 16) + "\n")
    options = tiny_options(kind, epochs=1, learning_rate=1e-9, word_vectors=path)
    found = train.train(tiny_collection, *splits, options)  # type: ignore[attr-defined]
    row = FIRST + found.tokens.index("quiet")
    weights = found.weights["latent.encoder.embedding.weight"]
    np.testing.assert_allclose(weights[row], np.full(16, 4.0), atol=1e-3)
    assert found.training["word_vectors"].startswith("vectors.txt, 1 of ")
    if kind == "conformer_kernel":
        alone = replace(options, settings=ConformerKernelSettings(architecture="ndrm2"))
        with pytest.raises(InputError, match="ndrm2 has no embeddings"):
            conformer_kernel.train(tiny_collection, *splits, alone)
