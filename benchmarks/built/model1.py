"""Model 1 of several collections and fields, learned by EM and kept."""

from pathlib import Path

from benchmarks.built.trained import TUNING_QUERIES, tuned_bm25
from benchmarks.harness.place import Place
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.rankers.model1 import training
from ranklet.training.rankers.model1.options import Options

CODE = ("training/rankers/model1", "training/indexing", "training/data/splits.py", "runtime/text")


def learned(
    place: Place,
    collection: str,
    learn: str,
    held_out: str,
    *,
    titles: bool = True,
    field: str = "words",
    iterations: int = Options.iterations,
) -> Checkpoint:
    """Return a Model 1.

    Args:
        place: of the run.
        collection: its name.
        learn: the part of its queries that the table is learned from.
        held_out: the part that p_self and λ are chosen on.
        titles: whether titles are part of the text.
        field: words or lemmas.
        iterations: rounds of EM.
    """
    documents = place.collection(collection)
    base = tuned_bm25(place, collection, titles=titles)

    def build(path: Path) -> None:
        tuning = read_split(documents, held_out, limit=TUNING_QUERIES)
        options = Options(titles=titles, bm25=base, field=field, iterations=iterations)
        training.train(documents, read_split(documents, learn), tuning, options).save(path)

    parts = [collection, *([] if titles else ["untitled"]), learn, field, f"{iterations}", "model1"]
    return read_checkpoint(place.keep(".".join(parts), build, CODE))
