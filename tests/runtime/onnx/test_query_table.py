"""A query's vector is made of its tokens' rows, by numpy alone, and so is its explanation."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.damage import Change, change_array, put
from tests.explanations import check_sums, leaves
from tests.kinds import TinyRankers, opened
from tests.query_tables import copied, indexed_with_table
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from ranklet.runtime import load
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.query_table import QueryTable
from ranklet.runtime.rankers.dense import Dense

DENSE = [{"stage": "retrieve", "ranker": "dense", "k": 20}]
ROWS = np.array([[0, 0], [100, 0], [0, 100], [60, 80]], np.int8)
SCALES = np.array([1, 0.5, 0.01, 1], np.float32)


def table(**changes: Any) -> QueryTable:
    words = Tokenizer(WordLevel({"?": 0, "a": 1, "b": 2, "c": 3}, unk_token="?"))  # noqa: S106
    words.pre_tokenizer = Whitespace()
    parts = {"rows": ROWS, "scales": SCALES, **changes}
    return QueryTable(**parts, tokenizer=words)


def test_a_vector_is_the_direction_of_the_sum_of_its_rows() -> None:
    vectors, cut = table().encode(["a", "c c", "a a a b", "", "?"], 3, 0)
    expected = np.array([[1, 0], [0.6, 0.8], [1, 0], [0, 0], [0, 0]])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert cut == [2]
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("text", ["a", "a b c c", "b ? a", ""])
def test_the_shares_of_the_tokens_are_the_vector(text: str) -> None:
    tokens, shares = table().shares(text, 3)
    assert len(tokens) == len(shares) == min(3, len(text.split()))
    np.testing.assert_allclose(shares.sum(0), table().encode([text], 3, 0).vectors[0], atol=1e-7)


def test_what_a_damaged_table_lacks_is_named() -> None:
    with pytest.raises(BundleError, match="has 3 rows, but the tokenizer has the token 3"):
        table(rows=ROWS[:3]).encode(["c"], 9, 0)
    with pytest.raises(BundleError, match="not finite"):
        table(scales=SCALES * np.float32(np.nan)).encode(["a"], 9, 0)
    with pytest.raises(BundleError, match=r"dense: the table of queries has 3 rows, but .* 4 tok"):
        table(rows=ROWS[:3]).verify("dense")
    with pytest.raises(BundleError, match="dense: a factor of the table"):
        table(scales=SCALES + np.float32(np.inf)).verify("dense")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rows", lambda rows: rows[:, :-1], "rows.npy"),
        ("rows", lambda rows: rows.astype(np.float32), "rows.npy"),
        ("rows", lambda rows: rows[:9], "scales.npy"),
        ("scales", put(np.nan, slice(None)), "not finite"),
        ("scales", lambda scales: scales[1:], "scales.npy"),
    ],
)
def test_a_damaged_table_is_refused(
    tiny: TinyRankers, tmp_path: Path, name: str, change: Change, message: str
) -> None:
    path = copied(indexed_with_table(tiny), tmp_path)
    change_array(path, f"rankers/dense/query/{name}.npy", change)
    with pytest.raises(BundleError, match=message):
        load(path).rank("quiet stream", pipeline=DENSE)


def test_amounts_of_the_querys_words_add_up_to_the_score(tiny: TinyRankers) -> None:
    bundle = load(indexed_with_table(tiny))
    for hit in bundle.rank("quiet streams river", k=5, pipeline=DENSE, explain=True):
        explanation = hit.explanation
        assert explanation is not None
        check_sums(explanation)
        assert abs(explanation.value - hit.score) < 1e-6
        names = {part.label for part in explanation.parts}
        assert {"quiet", "river"} <= names
        for leaf in leaves(explanation):
            assert leaf.source is None or leaf.source[1] in f"{hit.title} {hit.text}".lower()


def test_a_part_is_what_leaving_its_word_out_takes_away(tiny: TinyRankers) -> None:
    ranker = opened(indexed_with_table(tiny), "dense", Dense)
    encoder = ranker.encoder.of_queries
    assert isinstance(encoder, QueryTable)
    document = ranker.vectors.floats(slice(1))[0].astype(np.float64)
    _, whole = encoder.shares("quiet river old", 20)
    _, left = encoder.shares("quiet old", 20)
    scores = encoder.encode(["quiet river old", "quiet old"], 20, 0).vectors @ document
    amounts, others = whole @ document, left @ document
    assert abs(amounts.sum() - scores[0]) < 1e-6
    # What is left is scaled to the length 1, and nothing else changes.
    length = float(np.linalg.norm(whole.sum(0) - whole[1]))
    np.testing.assert_allclose(others, amounts[[0, 2]] / length, rtol=1e-9)
    assert abs((scores[0] - amounts[1]) / length - scores[1]) < 1e-6


@pytest.mark.slow
def test_serving_imports_numpy_alone(tiny: TinyRankers) -> None:
    code = (
        "import sys; sys.modules['tokenizers'] = sys.modules['onnxruntime'] = None\n"
        "import ranklet\n"
        f"bundle = ranklet.load({str(indexed_with_table(tiny))!r})\n"
        "hits = bundle.rank('quiet stream', explain=True)\n"
        "assert hits and hits[0].explanation\n"
        "print(sorted(set(sys.modules) & {'torch', 'tokenizers', 'onnxruntime'}))\n"
        "try: bundle.rank('quiet', ['a text'])\n"
        "except ranklet.RankletError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "onnx]" in done.stdout
