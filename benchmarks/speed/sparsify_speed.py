"""How long it takes to sparsify a neural Model 1: every pair of BERT's 30,522 word pieces."""

import os
from time import perf_counter

import torch

from benchmarks.built.trained import medquad_neural_model1
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal
from ranklet.training.rankers.neural_model1 import training as neural_model1
from ranklet.training.rankers.neural_model1.network import THRESHOLD
from ranklet.training.rankers.neural_model1.sparsify import sparsify

PACKAGES = ("torch",)
MOST = 10.0  # minutes on 2 cores
# For all pairs, most of which the network has not seen and gives translations by the million: what
# is computed is the same, and what is kept fits.
HIGH = 0.1


def run(place: Place) -> str:
    """Sparsify the network of medquad over the whole vocabulary, and over what it has seen."""
    checkpoint = medquad_neural_model1(place)
    model = neural_model1.load(checkpoint)
    torch.set_num_threads(os.cpu_count() or 1)
    begin = perf_counter()
    everything = sparsify(model, threshold=HIGH)
    minutes = (perf_counter() - begin) / 60
    seen = checkpoint.arrays["seen"]
    begin = perf_counter()
    kept = sparsify(model, tokens=seen)
    size = model.network.vocabulary
    return f"""
The network of medquad, {os.cpu_count()} cores. All {size:,}² = {size**2 / 1e6:.0f} million \
pairs: {minutes:.1f} minutes, {len(everything):,} with T ≥ {HIGH:g}. What export does, T ≥ \
{THRESHOLD:g} of only the {len(seen):,} word pieces that the network has seen: \
{(perf_counter() - begin) / 60:.1f} minutes, {len(kept):,} kept.

{goal("all pairs", minutes, MOST, "minutes")}
"""
