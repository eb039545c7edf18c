"""How time, memory and disk grow from ten thousand passages to ten million.

The passages are synthetic; benchmarks/growth/synthetic.py says how. The figures of a collection
are kept, so a run that was interrupted goes on with the next one.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.growth import sizes
from benchmarks.growth.synthetic import (
    EXPONENT,
    MEAN,
    RARE,
    RARE_EXPONENT,
    REPEATED,
    SHIFT,
    Model,
    learned,
)
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import goal, table

PACKAGES = ("bm25s", "tantivy")
COLLECTION = "google-wiki"
COUNTS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
MOST = 0.25  # private memory of a build beyond that of the smallest collection, of the bundle
P50, P99 = 3, 10  # ms of a query of the largest collection
TIME, BYTES = 3, 1  # of a build and of a passage, of tantivy's
_OWN = ("benchmarks/growth",)


def run(place: Place) -> str:
    """Measure what is not kept, and return the tables."""
    model = _model(place)
    found = [
        _figures(place, f"growth.{count}.json", partial(sizes.measure, model, count, place.work))
        for count in COUNTS
    ]
    real = _figures(place, "growth.real.json", partial(sizes.measure_real, place, COLLECTION))
    return report(found, real)


def report(found: list[dict[str, Any]], real: dict[str, dict[str, float]]) -> str:
    """Return the tables of some collections, ascending, and of a real collection."""
    ours, peer = real["ranklet"]["seconds"], real["tantivy"]["seconds"]
    first, last = found[0], found[-1]
    share = (last["build"]["private"] - first["build"]["private"]) * 1e6 / last["bundle"]
    return f"""
Passages of {MEAN:g} words on average, whose lengths are those of {COLLECTION}'s, scaled. \
The n-th most frequent word has a probability proportional to (n + {SHIFT})^-{EXPONENT}, beyond \
the {RARE:,}th with the exponent {RARE_EXPONENT}, and {REPEATED:.0%} of the words repeat one of \
their passage. Bundles are built with defaults, which cut passages of more than 180 words; \
peers index them whole. {sizes.QUESTIONS} questions of {sizes.TERMS} words that are \
no stop words, from a text to the texts of 10 hits, one thread, the median of {sizes.ROUNDS} \
rounds each.

{_by_count(found)}

{
        goal(
            "private memory of the largest build beyond the smallest one's, by its bundle,",
            share,
            MOST,
            "×",
        )
    }
{goal(f"query of {last['passages']:,}, p50", last["p50"], P50)}
{goal(f"query of {last['passages']:,}, p99", last["p99"], P99)}
{goal("build of a million, of tantivy's time,", _of_peer(found, "seconds"), TIME, "×")}
{goal(f"build of {COLLECTION}, of tantivy's time,", ours / peer, TIME, "×")}
{goal("bytes of a million, of tantivy's,", _of_peer(found, "bytes"), BYTES, "×")}
- *Private* memory is the process's own. *Resident* memory counts pages of mapped files, too, \
which the system takes back when it needs them. A *first answer* is import, opening and one \
question in a fresh process, beyond `import numpy`, {sizes.STARTS} processes; *from disk* means \
that the bundle's files were dropped from the page cache before.

The passages of {COLLECTION} take {ours:.1f} s to build, and tantivy {
        peer:.1f} s, with two threads \
and two processors.

Bytes of a passage. All store the texts. tantivy's index has frequencies, positions and stored \
texts; bm25s keeps scores as float32 and document numbers as int32, and its texts as JSON.

{_by_bytes(found)}
"""


def _of_peer(found: list[dict[str, Any]], name: str) -> float:
    """Return what a million passages take, of what they take tantivy."""
    each = next((each for each in found if each["passages"] == 1_000_000), found[-1])
    ours = each["bundle"] if name == "bytes" else each["build"][name]
    return float(ours / each["tantivy"][name])


def _by_count(found: list[dict[str, Any]]) -> str:
    rows = [
        [
            f"{each['passages']:,}", f"{each['bundle'] / 1e6:,.0f}",
            f"{each['build']['seconds']:,.0f}", f"{each['tantivy']['seconds']:,.0f}",
            f"{each['build']['private']:,.0f}", f"{each['build']['resident']:,.0f}",
            f"{each['p50']:.2f}", f"{each['p99']:.2f}", f"{each['tantivy']['p50']:.2f}",
            f"{each['tantivy']['p99']:.2f}", f"{each['serving']:.0f}",
            f"{each['start']:.0f}", f"{each['start from disk']:.0f}",
        ]
        for each in found
    ]  # fmt: skip
    head = ["passages", "bundle, MB", "build, s", "tantivy's, s", "our private MB"]
    head += ["resident MB", "query p50, ms", "p99", "tantivy's p50", "its p99"]
    head += ["serving, private MB", "first answer, ms"]
    return table([*head, "from disk"], rows)


def _by_bytes(found: list[dict[str, Any]]) -> str:
    rows = []
    for each in found:
        count, other = each["passages"], each.get("bm25s")
        values = [each["text"], *each["parts"].values(), each["bundle"]]
        values.append(each["tantivy"]["bytes"])
        row = [f"{count:,}", *(f"{value / count:.0f}" for value in values)]
        peer = f"{other['bytes'] / count:.0f} ({other['index'] / count:.0f})" if other else ""
        rows.append([*row, peer])
    head = ["passages", "CSV file", *sizes.PARTS, "bundle", "tantivy"]
    return table([*head, "bm25s (without texts)"], rows)


def _model(place: Place) -> Model:
    """Return what passages are drawn from; reading the collection takes a while, so it is kept."""

    def build(path: Path) -> None:
        model = learned(each.text for each in place.collection(COLLECTION).documents())
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **_arrays(model))

    path = place.keep("growth.words.npz", build, _OWN)
    with np.load(path, allow_pickle=False) as arrays:
        spellings = bytes(arrays["spellings"]).decode().split("\n")
        return Model(spellings, arrays["below"], arrays["lengths"])


def _arrays(model: Model) -> dict[str, Any]:
    spelled = np.frombuffer("\n".join(model.spellings).encode(), np.uint8)
    return {"spellings": spelled, "below": model.below, "lengths": model.lengths}


def _figures(place: Place, name: str, measure: Any) -> dict[str, Any]:
    """Return kept figures; what is missing or of other code is measured."""
    path = place.keep(name, measure, (*CODE, *_OWN))
    figures: dict[str, Any] = json.loads(path.read_text())
    return figures
