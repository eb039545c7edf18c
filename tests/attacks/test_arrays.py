"""Damaged and hostile files inside a bundle; `VERIFY_ONLY` says which check finds which.

Each attack changes one file of a real bundle and then puts the right size and sha256 into the
manifest, as a hostile author would. `verify` must reject all of them. `rank` may answer wrongly
where only `verify` could know, but never fails in another way than by BundleError, and never hangs.
"""

import contextlib
import json
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.damage import change_manifest

from ranklet.corpus.building.writer import sha256
from ranklet.runtime import Bundle, BundleError, InputError
from ranklet.runtime.rankers.verification import verify

Damage = Callable[[Path], object]  # changes one file
Change = Callable[[NDArray[Any]], NDArray[Any]]
# What only `verify` finds; `rank` finds all other attacks, by file.
VERIFY_ONLY = {
    "rankers/bm25/documents.npy": ("one past the collection", "not in order", "all the same"),
    "rankers/bm25/impacts.npy": ("zeros",),
    "rankers/bm25/largest.npy": ("below zero",),
    "rankers/model1/sources.npy": (
        "past the vocabulary",
        "below zero",
        "all the same",
        "not in order",
    ),
    "rankers/model1/probabilities.npy": ("zeros", "two"),
    "rankers/model1/background.npy": ("two",),
    "text/lemma_of.npy": ("no word",),
    "text/forms.npy": ("not in order", "all the same", "not UTF-8"),
    "documents/ids.npy": ("all the same",),
    "documents/by_id.npy": ("all the same", "not in order"),
    "documents/words.npy": ("below zero",),
    "text/tokenizer.json": ("another unknown piece", "a panic at a text"),
}


# ------------------------------------------------------------------------------ ways to damage


def values(change: Change) -> Damage:
    """Change the numbers of an array and leave its type."""

    def damage(path: Path) -> None:
        held = np.load(path)
        np.save(path, change(held.copy()).astype(held.dtype))

    return damage


def wide(change: Change) -> Damage:
    """Change numbers that may have 64 bits."""
    return array(lambda held: change(held.astype(np.int64)))


def put(value: float, at: int | slice = 0) -> Damage:
    """Put a number into an array."""

    def change(held: NDArray[Any]) -> NDArray[Any]:
        held[at] = value
        return held

    return values(change)


def array(change: Change) -> Damage:
    """Change an array, its type or shape included."""
    return lambda path: np.save(path, change(np.load(path)))


def header(text: str, version: bytes = b"\x01\x00") -> Damage:
    """Put another header before the elements of an array; {n} is their number."""

    def damage(path: Path) -> None:
        raw, held = path.read_bytes(), np.load(path)
        body = raw[len(raw) - held.nbytes :]
        header = text.replace("{n}", str(len(held))).replace("{d}", held.dtype.str).encode()
        path.write_bytes(b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + body)

    return damage


def shaped(shape: str, descr: str = "'{d}'", order: str = "False") -> Damage:
    return header(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n")


def content(change: Callable[[bytes], bytes]) -> Damage:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def objects(path: Path) -> None:
    np.save(path, np.array([Bomb()] * len(np.load(path)), object), allow_pickle=True)


class Bomb:
    """What runs a program as soon as it is unpickled."""

    target = "/nowhere"

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.target),)


def swapped(held: NDArray[Any]) -> NDArray[Any]:
    """Change places of the first two postings of a term that has two."""
    held[[0, 1]] = held[[1, 0]]
    return held


def words(damage: Callable[[list[bytes]], list[bytes]]) -> Damage:
    """Change packed strings: the file of the bytes is given, the offsets follow."""

    def change(path: Path) -> None:
        offsets_path = path.with_name(path.name.replace(".npy", ".offsets.npy"))
        data, offsets = np.load(path).tobytes(), np.load(offsets_path)
        found = damage([data[a:b] for a, b in pairwise(offsets.tolist())])
        np.save(path, np.frombuffer(b"".join(found), np.uint8))
        np.save(offsets_path, np.concatenate([[0], np.cumsum([len(each) for each in found])]))

    return change


def deflated(text: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(text) + stream.flush()


def not_utf8(found: list[bytes]) -> list[bytes]:
    return [b"\xff" * len(each) for each in found]


def tokenizer(change: Callable[[dict[str, Any]], object]) -> Damage:
    def damage(path: Path) -> None:
        raw = json.loads(path.read_text("utf-8"))
        change(raw)
        path.write_text(json.dumps(raw), "utf-8")

    return damage


def gone(path: Path) -> None:
    path.unlink()


ANY_ARRAY: dict[str, Damage] = {
    "cut short": content(lambda raw: raw[:-4]),
    "cut to its header": content(lambda raw: raw[:128]),
    "cut to nothing": content(lambda _: b""),
    "four bytes more": content(lambda raw: raw + b"\0\0\0\0"),
    "no array": content(lambda raw: b"x" * len(raw)),
    "another type": array(lambda held: held.astype(np.complex64)),
    "big-endian": array(lambda held: held.astype(held.dtype.newbyteorder(">"))),
    "records": array(lambda held: held.astype([("x", held.dtype)])),
    "objects with a pickle inside": objects,
    "two dimensions": array(lambda held: held[:, None]),
    "no dimension": array(lambda held: np.asarray(held[0])),
    "Fortran order": shaped("({n},)", order="True"),
    "a huge shape": shaped("(1000000000000000000,)"),
    "a shape past 64 bits": shaped(f"(1{'0' * 40},)"),
    "a negative shape": shaped("(-1,)"),
    "a shape of floats": shaped("({n}.0,)"),
    "a shape of two that cancel": shaped("({n}, 0)"),
    "a type of a huge size": shaped("({n},)", "'V9999999999999'"),
    "a type that does not parse": shaped("({n},)", "[('a', ('b',"),
    "a type nested deep": shaped("({n},)", "(" * 300 + "'<i4'" + ")" * 300),
    "a header nested deep": header("-" * 4000 + "1"),
    "a header nested deep in brackets": header("[" * 4000),
    "a header of Python 2": shaped("({n}L,)"),
    "a header that is a program": header("__import__('os').abort()"),
    "a header without an end": header("{'descr': '<i4', 'fortran_order': (False,"),
    "a header of zeros": header("\0" * 100),
    "a header past the file": content(lambda raw: raw[:8] + b"\xff\xff" + raw[10:]),
    "a header that is too long": header(" " * 60_000 + "{}"),
    "version 2 of the format": header("{'descr': '<i4', 'shape': (1,)}", b"\x02\x00"),
}
# All of these are tried on one array, and a few on one of each other part of a bundle.
PART = "rankers/bm25/largest.npy"
OTHER_PARTS = (
    "text/lemma_of.npy",
    "documents/by_id.npy",
    "documents/words.npy",
    "documents/texts.offsets.npy",
    "rankers/model1/sources.npy",
)
FEW = ("cut short", "another type", "objects with a pickle inside", "two dimensions")
OFFSETS = (
    "text/forms.offsets.npy",
    "documents/ids.offsets.npy",
    "documents/words.offsets.npy",
    "rankers/bm25/offsets.npy",
    "rankers/model1/offsets.npy",
)
ANY_OFFSETS: dict[str, Damage] = {
    "begins with 1": put(1),
    "begins below 0": wide(lambda held: np.append(-1, held[1:])),
    "goes backwards": values(lambda held: np.concatenate([[0], held[-2:0:-1], held[-1:]])),
    "ends past the end": wide(lambda held: np.append(held[:-1], 1 << 40)),
    "ends before the end": values(lambda held: np.minimum(held, held[-1] - 1)),
    "wraps around 64 bits": wide(
        lambda held: np.concatenate([[0, 1 << 62, -(1 << 63) + 5], held[3:]])
    ),
    "a row more": values(lambda held: np.append(held, held[-1])),
    "a row fewer": values(lambda held: np.append(held[:-2], held[-1])),
    "no row at all": values(lambda held: held[:0]),
}
PIECES = "text/tokenizer.json"
ONE_FILE: dict[tuple[str, str], Damage] = {
    ("rankers/bm25/documents.npy", "one past the collection"): put(42),
    ("rankers/bm25/documents.npy", "all far past the collection"): put((1 << 16) - 1, slice(None)),
    ("rankers/bm25/documents.npy", "far past it in 4 bytes"): array(
        lambda held: np.full(len(held), (1 << 32) - 1, np.uint32)
    ),
    ("rankers/bm25/documents.npy", "not in order"): values(lambda held: held[::-1]),
    ("rankers/bm25/documents.npy", "all the same"): put(3, slice(None)),
    ("rankers/bm25/impacts.npy", "zeros"): put(0, slice(None)),
    ("rankers/bm25/largest.npy", "zeros"): put(0, slice(None)),
    ("rankers/bm25/largest.npy", "below zero"): put(-1, slice(None)),
    ("rankers/bm25/largest.npy", "NaN"): put(np.nan, slice(None)),
    ("rankers/bm25/largest.npy", "infinity"): put(np.inf, slice(None)),
    ("rankers/bm25/statistics.npy", "NaN"): put(np.nan),
    ("rankers/bm25/statistics.npy", "infinity"): put(np.inf),
    ("rankers/bm25/statistics.npy", "below zero"): put(-1),
    ("rankers/model1/sources.npy", "past the vocabulary"): put((1 << 31) - 1, slice(None)),
    ("rankers/model1/sources.npy", "every other past the vocabulary"): put(
        (1 << 31) - 1, slice(None, None, 2)
    ),
    ("rankers/model1/sources.npy", "below zero"): put(-5, slice(None)),
    ("rankers/model1/sources.npy", "far below zero"): put(-(1 << 31), slice(None)),
    ("rankers/model1/sources.npy", "not in order"): values(lambda held: held[::-1]),
    ("rankers/model1/sources.npy", "all the same"): put(3, slice(None)),
    ("rankers/model1/probabilities.npy", "NaN"): put(np.nan, slice(None)),
    ("rankers/model1/probabilities.npy", "infinity"): put(np.inf, slice(None)),
    ("rankers/model1/probabilities.npy", "zeros"): put(0, slice(None)),
    ("rankers/model1/probabilities.npy", "two"): put(2, slice(None)),
    ("rankers/model1/probabilities.npy", "below zero"): put(-1, slice(None)),
    ("rankers/model1/background.npy", "zeros"): put(0, slice(None)),
    ("rankers/model1/background.npy", "NaN"): put(np.nan, slice(None)),
    ("rankers/model1/background.npy", "two"): put(2, slice(None)),
    ("rankers/model1/background.npy", "below zero"): put(-0.5, slice(None)),
    ("text/lemma_of.npy", "past the vocabulary"): put((1 << 31) - 1, slice(None)),
    ("text/lemma_of.npy", "one past the vocabulary"): values(
        lambda held: np.append(held[:-1], len(held))
    ),
    ("text/lemma_of.npy", "below -2"): put(-3, -1),
    ("text/lemma_of.npy", "no word"): put(-2, slice(None)),
    ("text/forms.npy", "not in order"): words(lambda found: found[::-1]),
    ("text/forms.npy", "all the same"): words(lambda found: [b"water"] * len(found)),
    ("text/forms.npy", "not UTF-8"): words(not_utf8),
    ("documents/ids.npy", "all the same"): words(lambda found: [b"bread"] * len(found)),
    ("documents/ids.npy", "not UTF-8"): words(not_utf8),
    ("documents/titles.npy", "not UTF-8"): words(not_utf8),
    ("documents/texts.npy", "not UTF-8"): words(not_utf8),
    ("documents/texts.npy", "inflates to ten megabytes"): words(
        lambda found: [deflated(b"x" * 10_000_000)] * len(found)
    ),
    ("documents/texts.npy", "two streams in one"): words(
        lambda found: [deflated(b"one") + deflated(b"two")] * len(found)
    ),
    ("documents/texts.npy", "streams that do not end"): words(
        lambda found: [each[:-1] for each in found]
    ),
    ("documents/texts.dictionary.npy", "gone"): gone,
    ("documents/texts.dictionary.npy", "too long"): array(
        lambda _: np.zeros((1 << 15) + 1, np.uint8)
    ),
    ("documents/texts.dictionary.npy", "another type"): array(lambda held: held.astype(np.int8)),
    ("documents/by_id.npy", "past the collection"): put((1 << 32) - 1, slice(None)),
    ("documents/by_id.npy", "all the same"): put(3, slice(None)),
    ("documents/by_id.npy", "not in order"): values(lambda held: held[::-1]),
    ("documents/words.npy", "past the vocabulary"): put((1 << 16) - 1, slice(None)),
    ("documents/words.npy", "below zero"): array(lambda held: np.full(len(held), -1, np.int32)),
    ("documents/words.npy", "far below zero"): array(
        lambda held: np.full(len(held), -(1 << 31), np.int32)
    ),
    ("documents/wordpieces.npy", "past the vocabulary"): put((1 << 16) - 1, slice(None)),
    ("documents/wordpieces.npy", "gone"): gone,
    ("documents/texts.npy", "gone"): gone,
    ("text/forms.npy", "gone"): gone,
    (PIECES, "gone"): gone,
    (PIECES, "not JSON"): content(lambda raw: b"x" * len(raw)),
    (PIECES, "nested deep"): content(lambda _: b"[" * 100_000),
    (PIECES, "no tokenizer"): content(lambda _: b"{}"),
    (PIECES, "without a piece"): tokenizer(lambda raw: raw["model"]["vocab"].clear()),
    (PIECES, "another unknown piece"): tokenizer(
        lambda raw: raw["model"].update({"unk_token": "?!"})
    ),
    (PIECES, "huge ids"): tokenizer(
        lambda raw: raw["model"].update(
            vocab={p: i + (1 << 31) for p, i in raw["model"]["vocab"].items()}
        )
    ),
    (PIECES, "one piece more"): tokenizer(lambda raw: raw["model"]["vocab"].update(zz=400)),
    (PIECES, "a panic when it is read"): tokenizer(
        lambda raw: raw.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"})
    ),
    (PIECES, "a panic at a text"): tokenizer(
        lambda raw: raw.update(
            post_processor={
                "type": "TemplateProcessing",
                "pair": [],
                "special_tokens": {},
                "single": [{"SpecialToken": {"id": "[X]", "type_id": 0}}],
            }
        )
    ),
}

ATTACKS: dict[str, tuple[str, Damage]] = {
    **{f"{PART}: {name}": (PART, way) for name, way in ANY_ARRAY.items()},
    **{f"{part}: {name}": (part, ANY_ARRAY[name]) for name in FEW for part in OTHER_PARTS},
    **{f"{part}: {name}": (part, way) for name, way in ANY_OFFSETS.items() for part in OFFSETS},
    **{f"{part}: {name}": (part, way) for (part, name), way in ONE_FILE.items()},
}


# ------------------------------------------------------------------------------ how they fare


def redigest(folder: Path) -> None:
    """Make the manifest tell the truth about the files again."""
    path = folder / "manifest.json"
    files = [each for each in folder.rglob("*") if each.is_file() and each != path]
    entries = {
        each.relative_to(folder).as_posix(): {"bytes": each.stat().st_size, "sha256": sha256(each)}
        for each in files
    }
    change_manifest(folder, lambda manifest: manifest.update(files=entries))


QUERIES = ("how long to knead dough gnorp", "mouse water bicycle the café")
OWN = ["Knead the dough", "", "a gnorp rides a bicycle"]
TWO_LISTS = [
    {"stage": "retrieve", "ranker": "bm25_words", "k": 5},
    {"stage": "retrieve", "ranker": "bm25", "k": 5},
    {"stage": "rescore", "ranker": "model1"},
    {
        "stage": "fuse",
        "method": "linear",
        "inputs": ["bm25", "bm25_words", "model1"],
        "weights": [1, 1, 1],
    },
]


def answer_everything(bundle: Bundle) -> None:
    """Call everything that answers; raise BundleError if any call found damage."""
    damage_found: BundleError | None = None

    def ask(question: Callable[..., Any], *given: Any, **options: Any) -> Any:
        nonlocal damage_found
        try:
            return question(*given, **options)
        except BundleError as error:
            damage_found = error
            return None

    for query in QUERIES:
        for pipeline in ("bm25_pieces", "linear", TWO_LISTS):
            for documents in (None, OWN):
                found = ask(bundle.rank, query, documents, pipeline=pipeline, explain=True, k=5)
                for hit in found or ():
                    assert np.isfinite(hit.score)
                    hit.text.encode()
            ask(bundle.rank_ids, query, pipeline=pipeline)
            for identity in ("bread", "blank"):
                with contextlib.suppress(InputError):  # its order destroyed, it finds no id
                    ask(bundle.explain, query, identity, pipeline=pipeline)
                    ask(bundle.score, query, ids=[identity], pipeline=pipeline)
    if damage_found is not None:
        raise damage_found


def found_by(path: Path) -> str:
    """Return the first check that rejects a bundle; every later one must do so as well."""
    try:
        bundle = Bundle(path)
    except BundleError:
        return "load"
    try:
        answer_everything(bundle)
    except BundleError:
        by = "rank"
    else:
        by = "verify"
    with pytest.raises(BundleError):
        list(verify(path))
    return by


def expected(name: str) -> str:
    """Return which check finds an attack."""
    part, _, damage = name.partition(": ")
    return "verify" if damage in VERIFY_ONLY.get(part, ()) else "rank"


def test_the_undamaged_bundle_passes(victim: Path) -> None:
    redigest(victim)
    answer_everything(Bundle(victim, check="full"))
    assert len(list(verify(victim))) == 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_found(victim: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part, damage = ATTACKS[name]
    marker = victim.with_name("executed")
    monkeypatch.setattr(Bomb, "target", str(marker))
    damage(victim / part)
    redigest(victim)
    assert found_by(victim) == expected(name)
    assert not marker.exists()


def test_the_bomb_of_these_tests_would_go_off(tmp_path: Path, monkeypatch: Any) -> None:
    marker = tmp_path / "executed"
    monkeypatch.setattr(Bomb, "target", str(marker))
    np.save(tmp_path / "bomb.npy", np.zeros(3))
    objects(tmp_path / "bomb.npy")
    np.load(tmp_path / "bomb.npy", allow_pickle=True)
    assert marker.exists()


def test_what_only_verify_finds_is_an_attack() -> None:
    named = {f"{part}: {each}" for part, damages in VERIFY_ONLY.items() for each in damages}
    assert named <= set(ATTACKS)


@pytest.mark.parametrize("name", ATTACKS)
def test_damage_without_a_new_digest_is_found_by_the_full_check(victim: Path, name: str) -> None:
    part, damage = ATTACKS[name]
    damage(victim / part)
    with pytest.raises(BundleError):
        Bundle(victim, check="full")
