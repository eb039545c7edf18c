"""Whether relevance tells answers from the best of what is there by vectors, and by both."""

from benchmarks.harness.place import Place
from benchmarks.quality.relevance import compare_vectors

PACKAGES = ("onnxruntime", "tokenizers", "torch", "transformers")


def run(place: Place) -> str:
    """Ask, fit and calibrate as `relevance` does by words."""
    return compare_vectors(place)
