"""The ColBERT of qa-mix: the oracle that lighter encoders learn from."""

import shutil
from pathlib import Path

from benchmarks.built.trained import (
    CROSS_RATES,
    HELD_OUT,
    LEARN,
    TUNING_QUERIES,
    all_cores,
    tuned_bm25,
)
from benchmarks.harness.place import Place
from ranklet.training.data.splits import read_split
from ranklet.training.learning.state import STATE
from ranklet.training.rankers.colbert import training as colbert
from ranklet.training.rankers.colbert.options import Options as ColBERTOptions

COLBERT_MINUTES = 18.0
COLBERT = (
    "training/learning",
    "training/sampling",
    "training/pretrained/backbone.py",
    "training/data/splits.py",
    "training/rankers/colbert",
)


def qa_mix_colbert(place: Place) -> Path:
    """Return the folder of a ColBERT of qa-mix, MiniLM-L6 trained for `COLBERT_MINUTES`.

    It has no markers, no expansion and no vectors of special tokens, like the oracle of Boualili,
    chapter 8. That one has inner products of 768 numbers and learned by Margin-MSE. With inner
    products of untrained states, the first losses were erratic, so this one has the cosine.
    """
    collection, state = place.collection("qa-mix"), place.state("qa-mix.colbert", COLBERT)

    def build(path: Path) -> None:
        options = ColBERTOptions(
            markers=False,
            special_tokens=False,
            punctuation=True,
            batch=16,
            learning_rate=CROSS_RATES[1],
            epochs=3,
            max_minutes=COLBERT_MINUTES,
            evaluate_every=150,
            bm25=tuned_bm25(place, "qa-mix"),
            folder=state,
            resume=(state / STATE).is_file(),
        )
        with all_cores():
            colbert.train(
                collection,
                read_split(collection, LEARN),
                read_split(collection, HELD_OUT, limit=TUNING_QUERIES),
                options,
            ).save(path)
        shutil.rmtree(state, ignore_errors=True)

    return place.keep("qa-mix.colbert", build, COLBERT)
