"""A smaller ColBERT of qa-mix: the oracle's vectors turned, cut, and trained on."""

from pathlib import Path

from benchmarks.built.late_interaction import COLBERT, qa_mix_colbert, train_colbert
from benchmarks.built.token_vectors import rotated, rotation, token_vectors
from benchmarks.built.trained import LEARN
from benchmarks.harness.place import Place
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.data.splits import read_split

SMALL, SMALL_MINUTES = 64, 8.0  # its dimensions, and how long it is trained on
TURNED_BY = 2_000  # documents whose vectors say which dimensions matter
CODE = (*COLBERT, "benchmarks/built/token_vectors.py")


def qa_mix_colbert_small(place: Place) -> Path:
    """Return the folder of the ColBERT with `SMALL` dimensions, trained on for `SMALL_MINUTES`.

    Its projection begins with the oracle's, turned so that the dimensions that are left out hold
    least of the vectors of documents that are relevant in train.
    """
    return place.keep(
        f"qa-mix.colbert{SMALL}",
        lambda path: train_colbert(
            place, path, f"colbert{SMALL}", SMALL_MINUTES, start=turned(place)
        ),
        CODE,
    )


def turned(place: Place) -> Path:
    """Return the folder of the ColBERT whose vectors are turned and cut to `SMALL` dimensions."""
    learned = qa_mix_colbert(place)

    def build(path: Path) -> None:
        collection = place.collection("qa-mix")
        queries = read_split(collection, LEARN)
        wanted = {name for query in queries for name in query.relevant}
        texts = [
            ranked_text(each.title, each.text, True)
            for each in collection.documents()
            if each.id in wanted
        ]
        checkpoint = read_checkpoint(learned)
        limit = checkpoint.settings.max_document_tokens
        vectors = token_vectors(place, learned, "document", texts[:TURNED_BY], limit)
        sample = vectors.tokens(range(len(vectors)))[1].astype("float32")
        rotated(checkpoint, rotation(sample, SMALL)).save(path)

    return place.keep(f"qa-mix.turned{SMALL}", build, CODE)
