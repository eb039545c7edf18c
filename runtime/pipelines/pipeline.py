"""Pipelines as plain data, with the stages retrieve, rescore, fuse, boost and keep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.ground.frozen import frozen

if TYPE_CHECKING:
    from ranklet.runtime.pipelines.signals import Signal

MAX_STAGES = 32  # far above any real pipeline, a bound for hostile manifests
MAX_WEIGHT = 1e6  # with this bound, sums of any sane ranker's weighted scores stay finite
METHODS = ("linear", "rrf", "alternate")


@frozen
class Retrieve:
    """Add a ranker's `k` best documents of the collection to the candidates."""

    ranker: str
    k: int = 1000
    stage: ClassVar[str] = "retrieve"

    def __str__(self) -> str:
        return f"retrieve {self.k} by {self.ranker}"


@frozen
class Rescore:
    """Score all candidates by a ranker, whose scores order them until a fusion follows."""

    ranker: str
    stage: ClassVar[str] = "rescore"

    def __str__(self) -> str:
        return f"rescore by {self.ranker}"


@frozen
class Fuse:
    """Fuse several scores into one.

    Attributes:
        method: ``linear`` adds up weighted scores, each multiplied by its ranker's scale,
            ``rrf`` weighted reciprocal ranks, and ``alternate`` takes turns between two lists.
        inputs: rankers of earlier stages, or names of earlier fusions.
        weights: one per input; none for ``alternate``.
        name: the name by which later stages use the result.
    """

    method: str
    inputs: tuple[str, ...]
    weights: tuple[float, ...] = ()
    name: str = "fused"
    stage: ClassVar[str] = "fuse"

    def __str__(self) -> str:
        if self.method == "alternate":
            return f"alternate between {' and '.join(self.inputs)}"
        parts = zip(self.weights, self.inputs, strict=True)
        return f"fuse ({self.method}) " + " + ".join(f"{w:.4g}·{name}" for w, name in parts)


@frozen
class Boost:
    """Add to the score of each candidate what its metadata say; only keep stages may follow.

    A signal adds weight · amount · (the score of a perfect match): Σ idf of the query's words for
    BM25, 1 for a cosine, Σ weights for a linear fusion, the score of rank 1 in all lists for rrf.
    So a score does not depend on the other candidates.
    """

    signals: "tuple[Signal, ...]"
    stage: ClassVar[str] = "boost"

    @classmethod
    def of(cls, boost: Mapping[str, Mapping[str, Any]]) -> "Boost":
        """Return the stage by what each field adds, as `Bundle.rank` takes it.

        >>> print(Boost.of({"stars": {"log": True, "weight": 0.1}}))
        boost 0.1·log(stars)

        Raises:
            InputError: it says something else.
        """
        from ranklet.runtime.pipelines.signals import read_signals

        return cls(read_signals(boost))

    def __str__(self) -> str:
        return f"boost {' + '.join(map(str, self.signals))}"


@frozen
class Keep:
    """Keep the `k` best candidates; of a document that is split, only the best passage."""

    k: int
    stage: ClassVar[str] = "keep"

    def __str__(self) -> str:
        return f"keep {self.k}"


Stage = Retrieve | Rescore | Fuse | Boost | Keep
_STAGES: Mapping[str, type[Stage]] = {
    each.stage: each for each in (Retrieve, Rescore, Fuse, Boost, Keep)
}


@frozen
class Pipeline:
    """A sequence of stages.

    >>> print(Pipeline((Retrieve("bm25", 100), Rescore("model1"))))
    retrieve 100 by bm25 → rescore by model1
    """

    stages: tuple[Stage, ...]

    def __str__(self) -> str:
        return " → ".join(str(stage) for stage in self.stages)

    @cached_property
    def rankers(self) -> tuple[str, ...]:
        """The names of the rankers that the pipeline uses, in order of use."""
        named = [each.ranker for each in self.stages if isinstance(each, Retrieve | Rescore)]
        return tuple(dict.fromkeys(named))

    def without_cuts(self) -> "Pipeline":
        """Return the pipeline without its keep stages, so that all documents get a score."""
        return Pipeline(tuple(each for each in self.stages if not isinstance(each, Keep)))

    @cached_property
    def boost(self) -> Boost | None:
        """The stage that adds what metadata say, if there is one."""
        return next((each for each in self.stages if isinstance(each, Boost)), None)

    def boosted(self, signals: "Sequence[Signal]") -> "Pipeline":
        """Return the pipeline with other signals than its own; none take its own away.

        >>> from ranklet.runtime.pipelines.signals import read_signals
        >>> pipeline = Pipeline((Retrieve("bm25", 100), Keep(10)))
        >>> print(pipeline.boosted(read_signals({"stars": {"log": True, "weight": 0.1}})))
        retrieve 100 by bm25 → boost 0.1·log(stars) → keep 10
        """
        stages: list[Stage] = [each for each in self.stages if not isinstance(each, Boost)]
        last = max(at for at, each in enumerate(stages) if not isinstance(each, Keep))
        if signals:
            stages.insert(last + 1, Boost(tuple(signals)))
        return Pipeline(tuple(stages))

    def shallow(self, depth: int) -> "Pipeline":
        """Return the pipeline with lists of at most `depth` documents, for a quick trial.

        >>> print(Pipeline((Retrieve("bm25", 100), Rescore("model1"))).shallow(2))
        retrieve 2 by bm25 → rescore by model1
        """
        return self._with_lengths(lambda k: min(k, depth))

    @cached_property
    def depth(self) -> int:
        """The largest number of hits that the pipeline can return from one ranker's list."""
        retrieved = max(each.k for each in self.stages if isinstance(each, Retrieve))
        return min([retrieved, *(each.k for each in self.stages if isinstance(each, Keep))])

    def deeper(self, factor: int) -> "Pipeline":
        """Return the pipeline with lists that are `factor` times as long.

        >>> print(Pipeline((Retrieve("bm25", 100), Keep(10))).deeper(4))
        retrieve 400 by bm25 → keep 40
        """
        return self._with_lengths(lambda k: k * factor)

    def _with_lengths(self, changed: Callable[[int], int]) -> "Pipeline":
        stages = (
            replace(each, k=changed(each.k)) if isinstance(each, Retrieve | Keep) else each
            for each in self.stages
        )
        return Pipeline(tuple(stages))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the stages as plain dictionaries."""
        return [_plain(each) for each in self.stages]

    @classmethod
    def from_json(cls, raw: object, where: str = "pipeline") -> "Pipeline":
        """Read and check a pipeline from a list of stages, which may be stages or their JSON.

        Raises:
            BundleError: a stage or an option is unknown, or the order is not allowed; the message
                contains `where`.
        """
        if not isinstance(raw, Sequence) or isinstance(raw, str) or not 0 < len(raw) <= MAX_STAGES:
            given = f"{len(raw)} items" if isinstance(raw, list | tuple) else f"{raw!r:.80}"
            raise BundleError(f"{where} must be a list of 1 to {MAX_STAGES} stages, not {given}")
        pipeline = cls(tuple(_stage(each, f"{where}[{i}]") for i, each in enumerate(raw)))
        pipeline._check(where)
        return pipeline

    def _check(self, where: str) -> None:
        if not isinstance(self.stages[0], Retrieve):
            raise BundleError(f"{where} must begin with a retrieve stage")
        known: list[str] = []
        fusions: set[str] = set()
        unfused: set[str] = set()  # lists that were retrieved but not yet merged
        for i, stage in enumerate(self.stages):
            place = f"{where}[{i}]"
            if self.boost in self.stages[:i] and not isinstance(stage, Keep):
                raise BundleError(f"{place}: only keep stages may follow a boost, not {stage}")
            if isinstance(stage, Retrieve):
                # A list that came later would bring documents without any of the earlier scores.
                if i and not isinstance(self.stages[i - 1], Retrieve):
                    raise BundleError(f"{place} retrieves, but retrieve stages must come first")
                if stage.ranker in unfused:
                    raise BundleError(f"{place} retrieves by {stage.ranker!r} again")
                known.append(stage.ranker)
                unfused.add(stage.ranker)
            elif isinstance(stage, Rescore):
                if stage.ranker in fusions:
                    raise BundleError(
                        f"{place} rescores by {stage.ranker!r}, which is the name of a fusion; "
                        "give the fusion another name"
                    )
                known.append(stage.ranker)
            elif isinstance(stage, Fuse):
                missing = [name for name in stage.inputs if name not in known]
                if missing:
                    raise BundleError(
                        f"{place} fuses {missing[0]!r}, which no earlier stage computes; there "
                        f"are {', '.join(known)}"
                    )
                if stage.name in known:
                    raise BundleError(f"{place}: the name {stage.name!r} is already used")
                known.append(stage.name)
                fusions.add(stage.name)
                unfused.clear()
            elif len(unfused) > 1:  # it would be unclear which list is meant
                what = f"keeps {stage.k}" if isinstance(stage, Keep) else "boosts"
                raise BundleError(f"{place} {what} of {len(unfused)} unfused lists")
        if len(unfused) > 1:
            raise BundleError(f"{where} retrieves {len(unfused)} lists but never fuses them")


# A pipeline's name, a pipeline, or its list of stages, which may be JSON; None is the default.
Stages = Sequence[Stage | Mapping[str, Any]]
PipelineLike = str | Pipeline | Stages | None


def own_pipeline(pipeline: Pipeline | Stages) -> Pipeline:
    """Return a caller's own pipeline, checked.

    Raises:
        InputError: it is not a pipeline.
    """
    stages = pipeline.stages if isinstance(pipeline, Pipeline) else pipeline
    try:
        return Pipeline.from_json(stages)
    except (BundleError, TypeError, AttributeError) as error:  # not the bundle's error
        raise InputError(f"this is not a pipeline: {error}") from error


def _plain(stage: Stage) -> dict[str, Any]:
    if isinstance(stage, Boost):
        signals = {each.field: each.to_json() for each in stage.signals}
        return {"stage": stage.stage, "signals": signals}
    options = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in vars(stage).items()
    }
    return {"stage": stage.stage, **options}


def _stage(raw: object, where: str) -> Stage:
    if isinstance(raw, Stage):
        raw = _plain(raw)
    name = raw.get("stage") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(name, str) or name not in _STAGES:
        kinds = ", ".join(each.__name__ for each in _STAGES.values())
        raise BundleError(
            f"{where} must be a stage ({kinds}), or an object whose 'stage' is one of "
            f"{', '.join(_STAGES)}, not {raw!r:.80}"
        )
    options = {key: _unbox(value) for key, value in raw.items() if key != "stage"}
    kind = _STAGES[name]
    allowed = [each.name for each in fields(kind)]
    for key, value in options.items():
        if key not in allowed:
            raise BundleError(
                f"{where}: {kind.stage} has no option {key!r}; it has {', '.join(allowed)}"
            )
        _check_option(key, value, where)
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    for each in fields(kind):
        if each.default is MISSING and each.name not in options:
            raise BundleError(f"{where}: {kind.stage} needs {each.name!r}")
    if kind is Boost:
        return Boost(_signals(options["signals"], where))
    stage = kind(**options)
    return _check_fuse(stage, where) if isinstance(stage, Fuse) else stage


def _signals(raw: object, where: str) -> "tuple[Signal, ...]":
    from ranklet.runtime.pipelines.signals import read_signals

    try:
        found = read_signals(raw)
    except InputError as error:
        raise BundleError(f"{where}: {error}") from error
    if not found:
        raise BundleError(f"{where}: a boost needs at least one field")
    return found


def _unbox(value: Any) -> Any:
    """Return numbers of numpy as those of Python."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return [_unbox(each) for each in value] if isinstance(value, list | tuple) else value


def _check_option(key: str, value: Any, where: str) -> None:
    if key == "k":
        if type(value) is not int or not 0 < value < 1 << 31:
            raise BundleError(f"{where}: k must be a whole number above 0, not {value!r:.80}")
    elif key == "weights":
        if not isinstance(value, list | tuple) or not all(
            type(each) in (int, float) and -MAX_WEIGHT <= each <= MAX_WEIGHT for each in value
        ):
            raise BundleError(
                f"{where}: weights must be numbers from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}, not "
                f"{value!r:.80}"
            )
    elif key == "inputs":
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            raise BundleError(f"{where}: inputs must be a list of names, not {value!r:.80}")
    elif key != "signals" and not isinstance(value, str):
        raise BundleError(f"{where}: {key} must be a string, not {value!r:.80}")


def _check_fuse(stage: Fuse, where: str) -> Fuse:
    if stage.method not in METHODS:
        raise BundleError(f"{where}: method {stage.method!r}; allowed are {', '.join(METHODS)}")
    count = 0 if stage.method == "alternate" else len(stage.inputs)
    if not stage.inputs or len(set(stage.inputs)) != len(stage.inputs):
        raise BundleError(f"{where}: inputs must be different names, at least one")
    if len(stage.weights) != count:
        raise BundleError(
            f"{where}: {stage.method} takes {count} weights for these inputs, not "
            f"{len(stage.weights)}"
        )
    return stage
