"""Every head against its formula, written out slowly, pair by pair and token by token."""

from collections.abc import Callable
from math import exp, log, log1p

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.runtime.rankers.cross_encoder.ranker import FLOOR, HEADS
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.cross_encoder.heads import LAYERED, HeadSizes, make_head
from ranklet.training.rankers.cross_encoder.heads.cedr_drmm import BINS, soft_histogram
from ranklet.training.rankers.cross_encoder.heads.cedr_knrm import DAMPING, MEANS, WIDTHS
from ranklet.training.rankers.cross_encoder.heads.cedr_pacrr import BEST
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates, make_pair_states

DIMENSION, LAYERS, SLOTS = 6, 3, 4
CLS, SEP, MARK, PAD = 2, 3, 9, 0
Vectors = NDArray[np.float64]

# Chunks of two pairs: [CLS] query [SEP] document [SEP], the query marked in some of them only.
ROWS = [
    ([CLS, MARK, 10, MARK, 11, SEP, 12, MARK, 10, MARK, 13, SEP], 6, 0),
    ([CLS, 10, 11, SEP, 14, SEP], 4, 0),
    ([CLS, 15, SEP, 10, 16, 17, SEP], 3, 1),
]


def inputs(rows: list[tuple[list[int], int, int]], width: int = 12) -> list[Tensor]:
    ids = torch.full((len(rows), width), PAD)
    mask, segments = torch.zeros_like(ids), torch.zeros_like(ids)
    for at, (row, query, _) in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
        mask[at, : len(row)] = 1
        segments[at, query : len(row)] = 1
    owners = torch.tensor([owner for *_, owner in rows])
    pairs = (torch.arange(int(owners.max()) + 1)[:, None] == owners).long()
    return [ids, mask, segments, pairs]


def reading(rows: list[tuple[list[int], int, int]], width: int = 12) -> PairStates:
    """Return vectors that hang on token, place and layer, whatever is padded."""
    made = inputs(rows, width)
    generator = torch.Generator().manual_seed(3)
    by_token = torch.randn((LAYERS, 20, DIMENSION), generator=generator)
    by_place = torch.randn((LAYERS, 40, DIMENSION), generator=generator)
    layers = [by_token[at][made[0]] + 0.3 * by_place[at][:width] for at in range(LAYERS)]
    special, markers = torch.tensor([CLS, SEP, MARK]), torch.tensor([MARK])
    ids, mask, segments, pairs = made
    return make_pair_states(layers, ids, mask, segments, pairs, special, markers)


def head(name: str) -> nn.Module:
    layers = LAYERS if name in LAYERED else 1
    with seeded(1):
        made = make_head(name, HeadSizes(DIMENSION, layers, SLOTS)).eval()
        for each in made.parameters():  # also those that begin with zeros or small
            nn.init.normal_(each, std=0.5)
        for each in getattr(made, "convolutions", ()):  # some windows match less than not at all
            nn.init.constant_(each.bias, -1.5)
    return made


def read_by(name: str, given: PairStates) -> PairStates:
    return given if name in LAYERED else given._replace(layers=given.layers[-1:])


class Slow:
    """The parts of one pair in plain lists."""

    def __init__(self, given: PairStates, owner: int) -> None:
        self.query: list[list[list[Vectors]]] = []  # by layer, chunk, token
        self.document: list[list[list[Vectors]]] = []
        self.marks: dict[str, list[Vectors]] = {"query": [], "document": []}
        chunks = [at for at, row in enumerate(ROWS) if row[2] == owner]
        for layer in given.layers:
            states = layer.numpy().astype(np.float64)
            self.query.append([])
            self.document.append([])
            for chunk in chunks:
                ids, end, _ = ROWS[chunk]
                text = [at for at, token in enumerate(ids) if token not in (CLS, SEP, MARK)]
                self.query[-1].append([states[chunk, at] for at in text if at < end])
                self.document[-1].append([states[chunk, at] for at in text if at >= end])
        last = given.layers[-1].numpy().astype(np.float64)
        self.cls = np.mean([last[chunk, 0] for chunk in chunks], axis=0)
        for chunk in chunks:
            ids, end, _ = ROWS[chunk]
            for at, token in enumerate(ids):
                if token == MARK:
                    self.marks["query" if at < end else "document"].append(last[chunk, at])

    @property
    def tokens(self) -> int:
        return len(self.query[0][0])

    def cosines(self, layer: int, token: int) -> list[float]:
        """Return those of a query token with all document tokens, each in its own chunk."""
        pairs = zip(self.query[layer], self.document[layer], strict=True)
        return [cosine(asked[token], each) for asked, held in pairs for each in held]


def cosine(a: Vectors, b: Vectors) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def linear(layer: nn.Module, values: Vectors) -> Vectors:
    weight = layer.weight.detach().numpy().astype(np.float64)  # type: ignore[operator]
    bias = layer.bias.detach().numpy() if layer.bias is not None else 0  # type: ignore[operator]
    found: Vectors = weight @ values + bias
    return found


def slow_vanilla(made: nn.Module, pair: Slow) -> float:
    return float(linear(made.linear, pair.cls)[0])  # type: ignore[arg-type]


def normed(layer: nn.Module, values: Vectors) -> Vectors:
    return np.asarray(layer(torch.from_numpy(values).float()).detach().numpy(), np.float64)


def slow_model1(made: nn.Module, pair: Slow) -> float:
    m = made
    score = 0.0
    for token in range(pair.tokens):
        total = count = 0.0
        for asked, held in zip(pair.query[0], pair.document[0], strict=True):
            x_q = linear(m.query_projection, np.tanh(normed(m.query_norm, asked[token])))  # type: ignore[arg-type]
            for each in held:
                x_d = linear(m.document_projection, np.tanh(normed(m.document_norm, each)))  # type: ignore[arg-type]
                hidden = np.maximum(linear(m.first, np.concatenate([x_q, x_d, x_q * x_d])), 0)  # type: ignore[arg-type]
                logit = linear(m.third, np.maximum(linear(m.second, hidden), 0))[0]  # type: ignore[arg-type]
                total += 1 / (1 + exp(-logit))
                count += 1
        score += log(total / count + FLOOR)
    return score


def slow_knrm(made: nn.Module, pair: Slow) -> float:
    features = []
    for layer in range(LAYERS):
        for mean, width in zip(MEANS, WIDTHS, strict=True):
            phi = 0.0
            for token in range(pair.tokens):
                near = [
                    exp(-((s - mean) ** 2) / (2 * width**2)) for s in pair.cosines(layer, token)
                ]
                phi += log(max(sum(near), 1e-10)) * DAMPING
            features.append(phi)
    return float(linear(made.linear, np.concatenate([features, pair.cls]))[0])  # type: ignore[arg-type]


def slow_histogram(values: list[float]) -> list[float]:
    bins = [0.0] * BINS
    for value in values:
        place = (value + 1) / 2 * (BINS - 1)
        low = min(int(place), BINS - 2)
        bins[low] += 1 - (place - low)
        bins[low + 1] += place - low
    return bins


def slow_drmm(made: nn.Module, pair: Slow) -> float:
    scores, gates = [], []
    for token in range(pair.tokens):
        logs = [log1p(n) for layer in range(LAYERS)
                for n in slow_histogram(pair.cosines(layer, token))]  # fmt: skip
        hidden = np.maximum(linear(made.first, np.concatenate([logs, pair.cls])), 0)  # type: ignore[arg-type]
        scores.append(linear(made.second, hidden)[0])  # type: ignore[arg-type]
        gates.append(np.mean([linear(made.gate, asked[token])[0] for asked in pair.query[-1]]))  # type: ignore[arg-type]
    weights = np.exp(gates) / np.exp(gates).sum()
    return float(weights @ np.array(scores))


def slow_pacrr(made: nn.Module, pair: Slow) -> float:
    features: list[float] = []
    best: dict[tuple[int, int], list[float]] = {}
    for size, each in enumerate(made.convolutions, 1):  # type: ignore[arg-type]
        weight, bias = each.weight.detach().numpy(), each.bias.detach().numpy()
        for chunk, (ids, end, places) in enumerate(pair_rows(pair)):
            for at in range(end, len(ids)):
                if at not in places:
                    continue
                for token in range(SLOTS):
                    found = bias.astype(np.float64).copy()
                    for layer in range(LAYERS):
                        for down in range(size):
                            for right in range(size):
                                if token + down < pair.tokens and at + right in places:
                                    held = pair.document[layer][chunk][places[at + right]]
                                    asked = pair.query[layer][chunk][token + down]
                                    found += weight[:, layer, down, right] * cosine(asked, held)
                    best.setdefault((size, token), []).append(max(0.0, found.max()))
    for token in range(SLOTS):
        for size in (1, 2, 3):
            kept = sorted(best[size, token], reverse=True)[:BEST] if token < pair.tokens else []
            features += [*kept, *[0.0] * (BEST - len(kept))]
    hidden = np.maximum(linear(made.first, np.concatenate([features, pair.cls])), 0)  # type: ignore[arg-type]
    return float(linear(made.third, np.maximum(linear(made.second, hidden), 0))[0])  # type: ignore[arg-type]


def pair_rows(pair: Slow) -> list[tuple[list[int], int, dict[int, int]]]:
    """Return each chunk's ids, where its document begins, and the numbers of its text's tokens."""
    out = []
    for ids, end, _ in (row for row in ROWS if pair is not None):
        text = [at for at in range(end, len(ids)) if ids[at] not in (CLS, SEP, MARK)]
        out.append((ids, end, {at: number for number, at in enumerate(text)}))
    lengths = [len(each) for each in pair.document[0]]
    begin = 0 if len(lengths) == 2 else 2
    return out[begin : begin + len(lengths)]


def slow_markers(pool: Callable[[Vectors], Vectors]) -> Callable[[nn.Module, Slow], float]:
    def score(made: nn.Module, pair: Slow) -> float:
        parts = [
            pool(np.array(pair.marks[side])) if pair.marks[side] else np.zeros(DIMENSION)
            for side in ("query", "document")
        ]
        hidden = np.tanh(linear(made.dense, np.concatenate(parts)))  # type: ignore[arg-type]
        return float(linear(made.linear, hidden)[0])  # type: ignore[arg-type]

    return score


SLOW = {
    "vanilla": slow_vanilla,
    "model1": slow_model1,
    "cedr_knrm": slow_knrm,
    "cedr_drmm": slow_drmm,
    "cedr_pacrr": slow_pacrr,
    "marker_avg": slow_markers(lambda marks: marks.mean(0)),
    "marker_max": slow_markers(lambda marks: marks.max(0)),
    "marker_first": slow_markers(lambda marks: marks[0]),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_its_formula(name: str) -> None:
    made = head(name)
    given = read_by(name, reading(ROWS))
    with torch.no_grad():
        found = made(given).tolist()
    expected = [SLOW[name](made, Slow(given, owner)) for owner in (0, 1)]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", HEADS)
def test_padding_and_other_pairs_change_nothing(name: str) -> None:
    made = head(name)
    with torch.no_grad():
        together = made(read_by(name, reading(ROWS)))
        wider = made(read_by(name, reading(ROWS, width=19)))
        first = made(read_by(name, reading(ROWS[:2])))
        last = made(read_by(name, reading([(*ROWS[2][:2], 0)], width=7)))
    torch.testing.assert_close(wider, together, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(torch.cat([first, last]), together, atol=1e-5, rtol=1e-5)


def test_histograms_share_each_similarity_between_two_bins() -> None:
    cosines = torch.tensor([[[1.0, -1.0, 0.3, 0.9, 0.5]]])
    document = torch.tensor([[1.0, 1.0, 1.0, 1.0, 0.0]])
    found = soft_histogram(cosines, document)[0, 0].tolist()
    assert found == pytest.approx([1, 0, 0, 0, 0, 0, 0.5, 0.5, 0, 0.5, 1.5], abs=1e-5)
    assert sum(found) == pytest.approx(4)
    assert slow_histogram([1.0, -1.0, 0.3, 0.9]) == pytest.approx(found, abs=1e-5)
