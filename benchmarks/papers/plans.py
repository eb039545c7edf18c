"""The trainings of the papers' rankers that need a GPU, as data."""

from collections.abc import Mapping
from typing import Any, NamedTuple

BM25, HYBRID = "BM25", "the hybrid"
SEEDS = (0, 1, 2)
STUDENTS = {"ColBERT": "colbert", "EPIC": "epic", "SPLADE": "splade"}
UNTITLED = ("medquad",)  # its titles hold the questions
MEDICAL = "md-"  # documents of qa-mix that medquad has, too
Values = dict[str, dict[str, dict[str, float]]]  # by system, by measure, by query


class Training(NamedTuple):
    """A ranker to train, what it is measured on, and what it is compared with there.

    Attributes:
        without: what the ids of documents begin with whose queries are left out of learning.
    """

    name: str
    kind: str
    options: Mapping[str, Any]
    learns: str
    ranks: tuple[str, ...]
    steps: int
    against: tuple[str, ...] = (BM25,)
    seed: int = 0
    without: str = ""
    asks: int = 1500  # queries that are ranked


def on_processors() -> list[Training]:
    """Return trainings of minutes that processors can do, on medquad without its titles."""
    own, oracle = ("medquad", ("medquad",)), "ColBERT of medquad"
    small: dict[str, Any] = {
        "evaluations": 2,
        "max_document_tokens": 64,
        "backbone": "wheel",
        "negatives": "bm25",
        "learning_rate": 3e-4,
    }
    plans = [
        Training("RepBERT, BM25's negatives", "dense",
                 {**small, "loss": "margin", "segments": "distinct", "batch": 13, "warmup": 0.03},
                 *own, 1_000, asks=500),
        Training(oracle, "student",
                 {**small, "batch": 16, "kind": "colbert", "max_query_tokens": 24, "markers": False,
                  "special_tokens": False, "punctuation": True, "saves": oracle},
                 "medquad", (), 250),
        Training("EPIC by pairs", "student",
                 {**small, "batch": 16, "max_document_tokens": 128, "kind": "epic",
                  "pairwise": True, "head_rate": 3.0},
                 "qa-mix", ("qa-mix",), 500, asks=200),
    ]  # fmt: skip
    for name, form in (
        ("SRM, K = 1", {"sub_embeddings": 1, "window": 0}),
        ("SRM, K = 10", {"sub_embeddings": 10, "window": 0}),
        ("SRM-LCM, K = 10", {"sub_embeddings": 10, "window": 1}),
    ):
        plans.append(Training(name, "light", {**form, "oracle": oracle, "evaluations": 1}, *own, 40,
                              (BM25, "its oracle"), asks=250))  # fmt: skip
    terms = {
        "sizes": {"hidden": 64, "heads": 8},
        "batch": 16,
        "max_document_terms": 128,
        "reads": 30,
        "evaluations": 2,
    }
    for name, others in (("NDRM1", ("NDRM3", "TK")), ("NDRM3", ("TK",)), ("TK", ())):
        plans += [Training(f"{name}, small", "terms", {**terms, "architecture": name.lower()}, *own,
                           300, (BM25, *(f"{each}, small" for each in others)), seed, asks=300)
                  for seed in SEEDS]  # fmt: skip
    return plans


def planned() -> list[Training]:
    """Return all trainings, those of the first seed first."""
    medquad, qa_mix = ("medquad", ("medquad",), 20_000), ("qa-mix", ("qa-mix",), 8_000)
    unseen = ("qa-mix", ("medquad", "scifact", "debian-packages"), 1_200)
    same, apart, unmarked = "margin, same segments", "margin, distinct segments", "no marks"
    margin, softmax = ({"loss": loss, "segments": "same"} for loss in ("margin", "softmax"))
    plans = [
        Training("NDRM1", "terms", {"architecture": "ndrm1"}, *medquad,
                 (BM25, "NDRM3", "TK", "TKL")),
        Training("NDRM3", "terms", {"architecture": "ndrm3"}, *medquad),
        Training("TK", "terms", {"architecture": "tk"}, *medquad),
        Training("TKL", "terms", {"architecture": "tkl"}, *medquad),
        Training(same, "dense", margin, *qa_mix),
        Training(apart, "dense", margin | {"segments": "distinct"}, *qa_mix, (BM25, same)),
        Training("softmax", "dense", softmax, *qa_mix, (BM25, same)),
    ]  # fmt: skip
    plans += [
        Training(name, "cross_encoder", {"marking": marking, "saves": name}, *unseen,
                 (BM25, unmarked) if name != unmarked else (BM25,), without=MEDICAL)
        for name, marking in
        ((unmarked, "none"), ("Sim-Pair", "sim_pair"), ("Pre-Pair", "pre_pair"))
    ]  # fmt: skip
    both, once, never = (
        "Sim-Pair, second phase",
        "Sim-Pair, then no marks",
        f"{unmarked}, second phase",
    )
    plans += [
        Training(name, "cross_encoder", {"marking": marking, "goes_on": start},
                 "medquad", ("medquad",), 400, against)
        for name, marking, start, against in (
            (never, "none", unmarked, (BM25, unmarked)),
            (both, "sim_pair", "Sim-Pair", (BM25, "Sim-Pair", never)),
            (once, "none", "Sim-Pair", (BM25, both, never)),
        )
    ]  # fmt: skip
    for head in ("vanilla", "model1"):
        first, every = (f"{head}, {part}" for part in ("first chunk", "all chunks"))
        plans += [
            Training(first, "cross_encoder", {"head": head}, *medquad[:2], 1_200),
            Training(every, "cross_encoder", {"head": head, "chunks": 4}, *medquad[:2], 1_200,
                     (BM25, first)),
        ]  # fmt: skip
    own, vanilla = ("qa-mix", ("qa-mix", "medquad"), 1_200), "head vanilla"
    plans += [
        Training(f"head {head}", "cross_encoder", {"head": head}, *own,
                 (BM25, vanilla) if head != "vanilla" else (BM25,))
        for head in ("vanilla", "model1", "cedr_knrm")
    ]  # fmt: skip
    plans += [
        Training(f"NDRM3 of {name}", "terms", {"architecture": "ndrm3"}, name, (name,), 3_000)
        for name in ("qa-mix", "debian-packages")
    ]
    for name in ("qa-mix", "debian-packages"):
        tables = {f"Model 1 of {name}, {how}": how == "network" for how in ("EM", "network")}
        plans += [
            Training(each, "translation", {"network": network}, name, (name,), 4_000,
                     (BM25, next(iter(tables))) if network else (BM25,))
            for each, network in tables.items()
        ]  # fmt: skip
    five, twenty = (f"Model 1 of medquad, {rounds} rounds of EM" for rounds in (5, 20))
    plans += [
        Training(five, "translation", {"network": False}, *medquad),
        Training(twenty, "translation", {"network": False, "iterations": 20}, *medquad,
                 (BM25, five)),
    ]  # fmt: skip
    last = ("qa-mix", ("qa-mix", "medquad", "scifact", "debian-packages"), 1_500)
    hybrid = (HYBRID, BM25)
    plans += [
        Training("last, softmax", "last_stage", {"loss": "softmax"}, *last, hybrid),
        Training("last, margin", "last_stage", {"loss": "margin"}, *last,
                 (*hybrid, "last, softmax")),
    ]  # fmt: skip
    for name, kind in STUDENTS.items():
        learns, alone = ("qa-mix", ("qa-mix",), 1_000), f"{name}, judgements"
        several = f"{alone}, seven negatives"
        plans += [
            Training(alone, "student", {"kind": kind}, *learns),
            Training(several, "student", {"kind": kind, "negatives_each": 7}, *learns,
                     (BM25, alone)),
            Training(f"{name}, teachers", "student",
                     {"kind": kind, "negatives_each": 7, "teachers": "softmax"}, *learns,
                     (BM25, alone, several)),
        ]  # fmt: skip
    return [plan._replace(seed=seed) for seed in SEEDS for plan in plans]
