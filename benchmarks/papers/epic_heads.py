"""EPIC from an encoder that has a prediction head: its values, and what pruning them costs.

MacAvaney et al. (§3, Figure 2) begin with BERT's prediction matrix, find that 74 % of all values
are 0.1 or below, and lose nothing by keeping the 1,000 largest of a document. The encoder here is
one of two layers whose head was trained to predict words and then as a SPLADE.
"""

import os
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.built.trained import QA_MIX, learned, tuned_bm25
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import table
from benchmarks.papers.scored_lists import compared, reciprocal_ranks
from benchmarks.papers.searched import Asked, asked_of
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.rankers.epic import training
from ranklet.training.rankers.epic.network import DocumentEncoder

PACKAGES = ("torch", "transformers")
VARIABLE = "RANKLET_TINY_HEAD"  # the folder of the encoder
STEPS, DEPTH, QUERIES, BATCH = 2_000, 50, 1_000, 16
KEPT = (100, 200, 500, 1000, 2000, 4000)
FORMS = {"a softmax over the batch": False}
ALL = 0  # values that are kept: all


def run(place: Place) -> str:
    """Train what is not kept, prune and compare.

    Raises:
        MissingDataError: the variable names no folder.
    """
    folder = os.environ.get(VARIABLE, "")
    if not Path(folder, "model.safetensors").is_file():
        raise MissingDataError(f"{VARIABLE} names no folder of an encoder with a head")
    queries = read_split(place.collection(QA_MIX), "dev", limit=QUERIES)
    bm25 = tuned_bm25(place, QA_MIX)
    asked = asked_of(place.collection(QA_MIX), queries, bm25, titles=True)
    base = reciprocal_ranks(asked.analysed.documents.ids, asked.found, queries)
    parts = []
    for how, pairwise in FORMS.items():
        checkpoint = learned(
            place, "epic", QA_MIX, f"tiny.{pairwise}", backbone=folder, steps=STEPS,
            learning_rate=3e-4, head_rate=3.0, evaluations=4, pairwise=pairwise,
        )  # fmt: skip
        values, shares = _pruned(checkpoint, asked)
        named = {"BM25": base} | {
            f"EPIC, {kept:,} values" if kept else "EPIC, all values": each
            for kept, each in values.items()
        }
        pairs = [(name, "EPIC, all values") for name in list(named)[2:]]
        parts.append(
            f"Learned by {how}, {checkpoint.training['steps']:,} steps in "
            f"{checkpoint.training['seconds'] / 60:.0f} minutes:\n\n"
            f"{compared(named, [('EPIC, all values', 'BM25'), *pairs])}\n\n"
            f"{table([f'values of documents ({how})', 'share'], shares)}\n"
        )
    return f"""
{QA_MIX}: {len(queries):,} dev queries, BM25's first {DEPTH} reranked. Encoder of two layers and \
128 dimensions. No floors: the largest values of each document are kept, as in the paper.

{chr(10).join(parts)}
"""


def _pruned(
    checkpoint: Checkpoint, asked: Asked
) -> tuple[dict[int, NDArray[np.float64]], list[list[str]]]:
    """Return MRR@10 by how many values are kept, and how large values are."""
    model, settings = training.load(checkpoint).eval(), checkpoint.settings
    tokenizer, device = checkpoint.need_tokenizer(), torch.device("cpu")
    wants: dict[int, list[int]] = defaultdict(list)
    for at, found in enumerate(asked.found):
        for number in found[:DEPTH].tolist():
            wants[number].append(at)
    numbers = sorted(wants)
    texts = [asked.text(number) for number in numbers]
    documents = tokenise(tokenizer, texts, settings.max_document_tokens)
    order = np.argsort(documents.lengths, kind="stable")
    queries = tokenise(tokenizer, [each.text for each in asked.queries], settings.max_query_tokens)
    scores: dict[int, dict[tuple[int, int], float]] = {kept: {} for kept in (ALL, *KEPT)}
    encoder, below = DocumentEncoder(model), np.zeros(3)
    with torch.inference_mode():
        weighed = []
        for at in range(len(asked.queries)):
            inputs = encoder_inputs(queries, np.array([at]), 0, 0, device)
            weighed.append((inputs[0][0], model.query(*inputs)[0].float()))
        begin = time.monotonic()
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            vectors = encoder(*encoder_inputs(documents, rows, 0, 1, device)).float()
            below += [(vectors <= 0).sum(), (vectors <= 0.1).sum(), vectors.numel()]
            largest = torch.topk(vectors, max(KEPT), dim=1).values
            for place, row in enumerate(rows.tolist()):
                for query in wants[numbers[row]]:
                    ids, weights = weighed[query]
                    own = vectors[place, ids]
                    for kept, by_pair in scores.items():
                        least = largest[place, kept - 1] if kept else -torch.inf
                        known = torch.where(own >= least, own, torch.zeros(()))
                        by_pair[query, numbers[row]] = float(known @ weights)
            if at % (200 * BATCH) == 0:
                print(f"{at:,} of {len(order):,}, {time.monotonic() - begin:.0f} s", flush=True)
    values = {}
    for kept, by_pair in scores.items():
        lists = []
        for at, found in enumerate(asked.found):
            own = np.array([by_pair[at, number] for number in found[:DEPTH].tolist()])
            lists.append(found[:DEPTH][np.argsort(-own, kind="stable")])
        values[kept] = reciprocal_ranks(asked.analysed.documents.ids, lists, asked.queries)
    zero, small, whole = below
    shares = [
        ["0", f"{zero / whole:.1%}"],
        ["0.1 or below", f"{small / whole:.1%}"],
        ["0.1 or below, of those above 0", f"{(small - zero) / (whole - zero):.1%}"],
    ]
    return values, shares
