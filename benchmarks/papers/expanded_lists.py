"""Whether EPIC and expansion add up, where EPIC rescores as many documents as is best.

MacAvaney et al. (§3) tune how many documents EPIC rescores, for each first list. docTTTTTquery is
not at hand, so queries of other people for the same document expand it. All reported queries have
such documents. What is tuned is chosen on held-out queries of train, and dev is reported.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.built.trained import HELD_OUT, QA_MIX, TUNING_QUERIES, epic
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.papers.scored_lists import compared, reciprocal_ranks
from benchmarks.papers.searched import Asked, asked_of
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection, write_collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.rankers.epic import training

PACKAGES = ("torch", "transformers")
K1, B = (0.3, 0.6, 0.9, 1.2, 1.6), (0.2, 0.4, 0.6, 0.75)
CUTS, WEIGHTS = (5, 10, 20, 30, 50, 100, 200), np.arange(0.1, 1, 0.1)
PLAIN, EXPANDED = "BM25", "BM25 of expanded documents"
BATCH = 32
Scores = dict[tuple[int, int], float]  # by query's place and document's number


class Parts(NamedTuple):
    """The queries that choose, those that are reported, and the log's texts by document."""

    choose: list[JudgedQuery]
    report: list[JudgedQuery]
    log: dict[str, list[str]]


def run(place: Place) -> str:
    """Rank in each way, choose and compare."""
    whole = place.collection(QA_MIX)
    parts = _parts(place)

    def build(path: Path) -> None:
        documents = (
            each._replace(text="\n".join([each.text, *parts.log.get(each.id, ())]))
            for each in whole.documents()
        )
        write_collection(path, documents, {})

    expanded = Collection(place.keep(f"{QA_MIX}.expanded", build, (), "1"))
    lists = {PLAIN: _lists(whole, parts), EXPANDED: _lists(expanded, parts)}
    scores = _scores(epic(place), lists)
    values, chosen = {}, []
    for name, (settings, on, off) in lists.items():
        choosing, reported = _ways(on, scores, 0), _ways(off, scores, len(parts.choose))
        kinds = {
            name: ["0"], f"EPIC on {name}": [way for way in choosing if way.isdecimal()],
            f"{name} + EPIC": [way for way in choosing if "·" in way],
        }  # fmt: skip
        for system, ways in kinds.items():
            best = max(ways, key=lambda way: choosing[way].mean())
            values[system] = reported[best]
            by = f"k1 {settings.k1}, b {settings.b}" if system == name else f"{best} documents"
            chosen.append([system, by])
    pairs = [
        (EXPANDED, PLAIN), (f"EPIC on {PLAIN}", PLAIN), (f"EPIC on {EXPANDED}", EXPANDED),
        (f"EPIC on {EXPANDED}", f"EPIC on {PLAIN}"), (f"{PLAIN} + EPIC", PLAIN),
        (f"{EXPANDED} + EPIC", EXPANDED), (f"{EXPANDED} + EPIC", f"{PLAIN} + EPIC"),
    ]  # fmt: skip
    each = np.mean([len(parts.log[name]) for query in parts.report for name in query.relevant])
    return f"""
{QA_MIX}: {len(parts.report):,} dev queries, whose documents have {each:.1f} other queries each \
in the log. {len(parts.choose):,} held-out queries of train, whose documents are expanded in the \
same way, choose k1 and b, how many documents EPIC rescores, and the weight of BM25 in a sum of \
standardised scores. EPIC learned 200 steps from documents that are not expanded, and reads them.

{compared(values, pairs)}

{table(["system", "chosen"], chosen)}
"""


def _parts(place: Place) -> Parts:
    """Return one query of each document that several were asked for, and all others as the log."""
    whole = place.collection(QA_MIX)
    chose = {query.id for query in read_split(whole, HELD_OUT, limit=TUNING_QUERIES)}
    held_out = [query for query in read_split(whole, HELD_OUT) if query.id not in chose]
    dev = read_split(whole, "dev")
    found = [_one_of_each(queries) for queries in (held_out, dev)]
    apart = {query.id for queries in found for query in queries}
    log: dict[str, list[str]] = defaultdict(list)
    for query in [*read_split(whole, "train"), *dev]:
        for name in query.relevant if query.id not in apart else ():
            log[name].append(query.text)
    choose, report = (
        [query for query in queries if all(log[name] for name in query.relevant)]
        for queries in found
    )
    return Parts(choose, report, log)


def _one_of_each(queries: Sequence[JudgedQuery]) -> list[JudgedQuery]:
    asked = Counter(name for query in queries for name in query.relevant)
    taken: set[str] = set()
    found = []
    for query in sorted(queries, key=lambda each: each.id[::-1]):
        if all(asked[name] > 1 for name in query.relevant) and not taken & set(query.relevant):
            found.append(query)
            taken |= set(query.relevant)
    return found


def _lists(collection: Collection, parts: Parts) -> tuple[BM25Settings, Asked, Asked]:
    """Return BM25 that is tuned on the queries that choose, and its lists for both parts."""

    def lists(settings: BM25Settings, queries: Sequence[JudgedQuery]) -> Asked:
        return asked_of(collection, queries, settings, titles=True)

    def value(settings: BM25Settings) -> float:
        asked = lists(settings, parts.choose)
        return float(
            reciprocal_ranks(asked.analysed.documents.ids, asked.found, parts.choose).mean()
        )

    best = max((BM25Settings("lemmas", k1=k1, b=b) for k1 in K1 for b in B), key=value)
    return best, lists(best, parts.choose), lists(best, parts.report)


def _scores(checkpoint: Checkpoint, lists: Any) -> Scores:
    """Return EPIC's score of each query's first documents of both lists."""
    model, settings = training.load(checkpoint).eval(), checkpoint.settings
    tokenizer, device = checkpoint.need_tokenizer(), torch.device("cpu")
    wants: dict[int, set[int]] = defaultdict(set)
    texts: list[str] = []
    for _, *both in lists.values():
        texts = [query.text for asked in both for query in asked.queries]
        for at, found in enumerate(each for asked in both for each in asked.found):
            for number in found[: max(CUTS)].tolist():
                wants[number].add(at)
    first = lists[PLAIN][1]
    numbers = sorted(wants)
    documents = tokenise(
        tokenizer, [first.text(number) for number in numbers], settings.max_document_tokens
    )
    queries, scores = tokenise(tokenizer, texts, settings.max_query_tokens), {}
    with torch.inference_mode():
        asked = []
        for at in range(len(texts)):
            inputs = encoder_inputs(queries, np.array([at]), 0, 0, device)
            asked.append((inputs[0][0].numpy(), model.query(*inputs)[0].float().numpy()))
        terms = np.unique(np.concatenate([ids for ids, _ in asked]))
        asked = [(np.searchsorted(terms, ids), weights) for ids, weights in asked]
        order, begin = np.argsort(documents.lengths, kind="stable"), time.monotonic()
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            inputs = encoder_inputs(documents, rows, 0, 1, device)
            vectors = model.document(*inputs, torch.from_numpy(terms)).float().numpy()
            for row, vector in zip(rows.tolist(), vectors, strict=True):
                for query in wants[numbers[row]]:
                    ids, weights = asked[query]
                    scores[query, numbers[row]] = float(vector[ids] @ weights)
            if at % (100 * BATCH) == 0:
                print(f"{at:,} of {len(order):,}, {time.monotonic() - begin:.0f} s", flush=True)
    return scores


def _ways(asked: Asked, scores: Scores, first: int) -> dict[str, NDArray[np.float64]]:
    """Return the values of BM25 ("0"), of EPIC by its cut, and of sums by cut and weight."""

    def values(cut: int, weight: float) -> NDArray[np.float64]:
        lists = []
        for at, (found, own) in enumerate(zip(asked.found, asked.scores, strict=True)):
            by_epic = np.array([scores[first + at, number] for number in found[:cut].tolist()])
            mixed = weight * _standard(np.asarray(own[:cut], float))
            mixed = mixed + (1 - weight) * _standard(by_epic)
            order = np.argsort(-mixed, kind="stable")
            lists.append(np.concatenate([found[:cut][order], found[cut:]]))
        return reciprocal_ranks(asked.analysed.documents.ids, lists, asked.queries)

    found = {"0": reciprocal_ranks(asked.analysed.documents.ids, asked.found, asked.queries)}
    for cut in CUTS:
        found[str(cut)] = values(cut, 0.0)
        found |= {f"{cut} · {weight:.1f} BM25": values(cut, float(weight)) for weight in WEIGHTS}
    return found


def _standard(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return (scores - scores.mean()) / (scores.std() + 1e-6) if len(scores) else scores
