"""Read and check the manifest of a bundle, field by field, before anything else is opened.

docs/maintainers/bundle-format.md is the specification. This file is the one place that knows the
schema.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ranklet.runtime.ground.errors import BundleError, UnknownRankerError
from ranklet.runtime.ground.frozen import frozen
from ranklet.runtime.ground.strict_json import unique
from ranklet.runtime.kinds import KINDS, ranker_module
from ranklet.runtime.pipelines.pipeline import Pipeline, PipelineLike, Retrieve, own_pipeline
from ranklet.runtime.text.names import ENGLISH, FIELDS, NORMALISERS, STEM

if TYPE_CHECKING:
    from ranklet.runtime.pipelines.relevance import Calibration

FORMAT_VERSION = 7  # of bundles and checkpoints; it also says how texts are split into words
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 16 * (1 << 20)  # a manifest of 100,000 files is smaller
MAX_DEPTH = 32  # nested objects and lists; a readable manifest can then also be written

# Plain relative POSIX paths, without drive, root, "..", hidden names or escapes.
_PATH = r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*"
_NAME = r"[A-Za-z0-9_-]{1,64}"
_LANGUAGE = r"[a-z]{2,3}"
_SHA256 = r"[0-9a-f]{64}"
_NO_DIGEST = "0" * 64

_LONGEST_REMARK = 1000  # characters

T = TypeVar("T")

# What Python has for a value; a date may be a datetime, in UTC.
Value = str | int | float | bool | date | list[str]

STRING = "string"
NUMBER = "number"
FLAG = "flag"  # true or false
DATE = "date"  # a day
DATETIME = "datetime"  # an instant, in UTC
LIST = "list"  # of strings
TYPES = (STRING, NUMBER, FLAG, DATE, DATETIME, LIST)
REMARKS = "metadata"  # in the provenance: why fields are strings that could be something else
DMY, MDY = "dmy", "mdy"  # a date as it is written with the day or the month first
DECLARED_TYPES = (*TYPES, DMY, MDY)  # of a column, where somebody says what is in it
PLURALS = {
    STRING: "strings",
    NUMBER: "numbers",
    FLAG: "flags",
    DATE: "dates",
    DATETIME: "dates with times",
    LIST: "lists of strings",
}

NO_TYPES: Mapping[str, str] = MappingProxyType({})

# More fields than that are no columns but data, such as an object whose keys are ids.
MAX_FIELDS = 256


class FileEntry(NamedTuple):
    """One file of the bundle."""

    bytes: int  # its size
    sha256: str  # the digest of its content, 64 hexadecimal digits


@frozen
class RankerEntry:
    """One exported ranker, whose files are in ``rankers/NAME/``."""

    kind: str
    settings: Mapping[str, Any]  # what was chosen
    measured: Mapping[str, float] = field(default_factory=dict)  # when it was indexed
    # The settings that indexing replaced because of the collection, as they were exported.
    replaced: Mapping[str, Any] = field(default_factory=dict)
    # The sha256 of what the stored vectors of documents depend on; "" if there are none.
    encoder: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the entry; what it does not have is left out."""
        content = asdict(self)
        optional = {key: content.pop(key) for key in ("replaced", "encoder")}
        return content | {key: value for key, value in optional.items() if value}

    def read_settings(self, name: str) -> Any:
        """Return the kind's settings; raise BundleError with the ranker's name for a bad one."""
        return ranker_module(self.kind).SETTINGS.from_json(self.settings, f"rankers.{name}")


class Splitting(NamedTuple):
    """How the documents of a collection were split into passages; see `Source`."""

    words: int  # in the longest passage; 0 if documents were not split
    overlap: int  # words that a passage may repeat of the one before


UNSPLIT = Splitting(0, 0)


@frozen
class Manifest:
    """The description of a bundle."""

    ranklet_version: str = ""  # this and the next are the writer's
    created: str = ""  # ISO 8601, UTC
    documents: int = 0  # 0 if no collection has been indexed yet
    fields: tuple[str, ...] = ()  # the fields in which the collection is analysed
    rankers: Mapping[str, RankerEntry] = field(default_factory=dict)
    pipelines: Mapping[str, Pipeline] = field(default_factory=dict)
    default_pipeline: str = ""
    files: Mapping[str, FileEntry] = field(default_factory=dict)  # the writer's, too
    titles: bool = True  # whether titles are ranked and not only shown
    languages: tuple[str, ...] = ENGLISH  # codes of the texts' languages, most frequent first
    normaliser: str = STEM  # what the forms of a word have in common
    # The type of each other field of the documents, sorted by name; see `runtime.metadata`.
    metadata: Mapping[str, str] = field(default_factory=dict)
    # The types that were declared for columns, by which those of added documents are read, too.
    declared: Mapping[str, str] = field(default_factory=dict)
    relevance: "tuple[Calibration, ...]" = ()  # what judged queries taught about scores
    splitting: Splitting = UNSPLIT  # only a bundle with documents says it
    provenance: Mapping[str, Any] = field(default_factory=dict)  # for people, never interpreted
    sha256: str = field(default="", compare=False)  # of its own text; see `seal_manifest`

    def to_json(self) -> str:
        """Return the text of ``manifest.json``; equal contents give equal texts."""
        taught = {"relevance": [each.to_json() for each in self.relevance]}
        content = {
            "format_version": FORMAT_VERSION,
            "ranklet_version": self.ranklet_version,
            "created": self.created,
            "documents": self.documents,
            "titles": self.titles,
            "languages": list(self.languages),
            "normaliser": self.normaliser,
            **({"metadata": dict(sorted(self.metadata.items()))} if self.metadata else {}),
            **({"declared": dict(sorted(self.declared.items()))} if self.declared else {}),
            "fields": list(self.fields),
            **({"splitting": self.splitting._asdict()} if self.documents else {}),
            "rankers": {name: entry.to_json() for name, entry in self.rankers.items()},
            "pipelines": {name: pipeline.to_json() for name, pipeline in self.pipelines.items()},
            "default_pipeline": self.default_pipeline,
            **(taught if self.relevance else {}),
            "files": {path: entry._asdict() for path, entry in sorted(self.files.items())},
            "provenance": dict(self.provenance),
        }
        return seal_manifest(content)

    def compare(self, text: str | bytes) -> None:
        """Compare the digest that the manifest states with that of its text.

        Raises:
            BundleError: they differ.
        """
        if digest_without(text, self.sha256) != self.sha256:
            raise BundleError(f"{MANIFEST} was changed after export, because its sha256 differs")

    @classmethod
    def from_json(cls, text: str | bytes) -> "Manifest":
        """Read a manifest and check all of it but its digest; see `compare`.

        Raises:
            BundleError: it is not JSON, has another version, or a field is missing or wrong.
        """
        try:
            raw = json.loads(
                text, object_pairs_hook=unique, parse_constant=_reject, parse_float=_finite
            )
            _check_depth(raw, MAX_DEPTH)
        except (ValueError, RecursionError) as error:
            raise BundleError(f"{MANIFEST} is not valid JSON: {error}") from error
        read = _Reader(raw, MANIFEST)
        if reason := other_version(
            read.integer("format_version"), "make it again with `ranklet build` or `ranklet index`"
        ):
            raise BundleError(f"the bundle {reason}")
        manifest = cls(
            sha256=read.digest("sha256"),
            ranklet_version=read.string("ranklet_version"),
            created=read.string("created"),
            documents=read.integer("documents", most=(1 << 31) - 1),
            fields=tuple(read.names("fields", FIELDS)),
            rankers={
                check_name(name): _ranker(_Reader(entry, f"rankers.{name}"))
                for name, entry in read.mapping("rankers").items()
            },
            pipelines={
                check_name(name): Pipeline.from_json(stages, f"{MANIFEST}: pipelines.{name}")
                for name, stages in read.mapping("pipelines").items()
            },
            default_pipeline=read.string("default_pipeline"),
            files={
                check_path(path): _file(_Reader(entry, f"files.{path}"))
                for path, entry in read.mapping("files").items()
            },
            titles=read.boolean("titles"),
            languages=tuple(read.codes("languages")),
            normaliser=read.choice("normaliser", NORMALISERS),
            metadata=read.types("metadata", TYPES),
            declared=read.types("declared", DECLARED_TYPES),
            relevance=read.calibrations("relevance"),
            splitting=read.splitting("splitting") if read.integer("documents") else UNSPLIT,
            provenance=read.mapping("provenance"),
        )
        manifest._check_references()
        return manifest

    def pipeline(self, wanted: PipelineLike) -> Pipeline:
        """Return the pipeline that a caller means, by its name or as the caller's own.

        A bundle whose only ranker cannot retrieve, such as a cross-encoder, has no pipeline. Then a
        pipeline of this ranker is returned, which can rank a caller's texts but raises an error for
        a collection.

        Raises:
            UnknownRankerError: the bundle has no pipeline of that name, or no ranker that it uses.
            InputError: it is not a pipeline.
        """
        if wanted is None:
            if not self.pipelines and len(self.rankers) == 1:
                return Pipeline((Retrieve(next(iter(self.rankers)), 1),))
            wanted = self.default_pipeline
        if not isinstance(wanted, str):
            own = own_pipeline(wanted)
            for name in own.rankers:
                self.check_ranker(name)
            return own
        if wanted not in self.pipelines:
            raise UnknownRankerError(
                f"unknown pipeline {wanted!r}; the bundle has {', '.join(self.pipelines) or 'none'}"
            )
        return self.pipelines[wanted]

    def calibration(self, rankers: Sequence[str]) -> "Calibration | None":
        """Return what makes probabilities of the scores of some rankers; None if nobody knows."""
        from ranklet.runtime.pipelines.relevance import read_calibration

        return read_calibration(rankers, self.compared(rankers), self.relevance)

    def compared(self, rankers: Sequence[str]) -> tuple[str, ...]:
        """Return what the scores of some rankers compare; see `Kind.compares`."""
        return tuple(KINDS[self.rankers[name].kind].compares for name in rankers)

    @property
    def remarks(self) -> dict[str, str]:
        """Why fields of the metadata hold strings that could be something else, and what to do."""
        held = self.provenance.get(REMARKS)
        remarks = held.items() if isinstance(held, dict) else ()
        return {name: each[:_LONGEST_REMARK] for name, each in remarks if isinstance(each, str)}

    def check_ranker(self, name: str) -> None:
        """Raise UnknownRankerError unless the bundle has a ranker of that name."""
        if name not in self.rankers:
            known = ", ".join(self.rankers) or "none"
            raise UnknownRankerError(f"unknown ranker {name!r}; the bundle has {known}")

    def _check_references(self) -> None:
        if self.pipelines and self.default_pipeline not in self.pipelines:
            raise BundleError(
                f"{MANIFEST}: default_pipeline is {self.default_pipeline!r}, but the pipelines are "
                f"{', '.join(self.pipelines)}"
            )
        for name, pipeline in self.pipelines.items():
            for ranker in pipeline.rankers:
                if ranker not in self.rankers:
                    raise BundleError(
                        f"{MANIFEST}: pipeline {name!r} uses the ranker {ranker!r}, but the bundle "
                        f"has {', '.join(self.rankers) or 'none'}"
                    )
            for stage in pipeline.stages:
                if isinstance(stage, Retrieve):
                    kind = self.rankers[stage.ranker].kind
                    if not KINDS[kind].retrieves:
                        raise BundleError(
                            f"{MANIFEST}: pipeline {name!r} retrieves by {stage.ranker!r}, a "
                            f"{kind} that has no index; kinds that retrieve are "
                            f"{', '.join(each.name for each in KINDS.values() if each.retrieves)}"
                        )


def seal_manifest(content: Mapping[str, Any]) -> str:
    """Return the text of ``manifest.json`` with a digest of itself, which is its first value."""
    content = {"sha256": _NO_DIGEST, **{key: content[key] for key in content if key != "sha256"}}
    # In ASCII, because names of folders may contain characters that UTF-8 cannot encode.
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    return text.replace(_NO_DIGEST, digest_without(text, _NO_DIGEST), 1)


def digest_without(text: str | bytes, stated: str) -> str:
    """Return the sha256 of a manifest in which the digest that it states is 64 zeros."""
    from hashlib import sha256  # takes long

    raw = text.encode() if isinstance(text, str) else text
    return sha256(raw.replace(stated.encode(), _NO_DIGEST.encode(), 1)).hexdigest()


class _Reader:
    """Reads typed values from a JSON object and names their place in errors."""

    def __init__(self, raw: object, where: str) -> None:
        if not isinstance(raw, dict):
            raise BundleError(f"{where} must be a JSON object, not {type(raw).__name__}")
        self._raw, self._where = raw, where

    def _get(
        self, key: str, kind: type[T], wanted: str, fits: Callable[[T], bool] = lambda _: True
    ) -> T:
        if key not in self._raw:
            raise BundleError(f"{self._where}: {key!r} is missing; it must be {wanted}")
        value: T = self._raw[key]
        if type(value) is not kind or not fits(value):
            raise BundleError(f"{self._where}: {key!r} is {repr(value)[:80]}; it must be {wanted}")
        return value

    def integer(self, key: str, most: int = 1 << 62) -> int:
        """Return a whole number from 0 to `most`."""
        return self._get(key, int, f"an integer, 0 to {most}", lambda value: 0 <= value <= most)

    def boolean(self, key: str) -> bool:
        """Return a boolean."""
        return self._get(key, bool, "true or false")

    def string(self, key: str) -> str:
        """Return a string."""
        return self._get(key, str, "a string")

    def codes(self, key: str) -> Sequence[str]:
        """Return a list of codes of languages."""
        wanted = "a list of one or more codes of languages such as 'en'"

        def fits(codes: list[Any]) -> bool:
            return bool(codes) and all(
                isinstance(code, str) and re.fullmatch(_LANGUAGE, code) for code in codes
            )

        codes: list[str] = self._get(key, list, wanted, fits)
        return codes

    def mapping(self, key: str) -> dict[str, Any]:
        """Return an object."""
        return self._get(key, dict, "an object")

    def types(self, key: str, allowed: Sequence[str]) -> dict[str, str]:
        """Return an object whose values are some types, sorted by name; {} if missing."""
        types = self.optional_mapping(key)
        if len(types) > MAX_FIELDS:
            raise BundleError(f"{self._where}: {key} has {len(types)} fields; at most {MAX_FIELDS}")
        for name, type_ in types.items():
            if type_ not in allowed:
                raise BundleError(
                    f"{self._where}: {key}.{name:.80} is {type_!r:.80}; it must be one of "
                    f"{', '.join(allowed)}"
                )
        return dict(sorted(types.items()))

    def optional_mapping(self, key: str) -> dict[str, Any]:
        """Return an object, empty if it is missing."""
        return self.mapping(key) if key in self._raw else {}

    def calibrations(self, key: str) -> "tuple[Calibration, ...]":
        """Return a list of calibrations, empty if it is missing."""
        if key not in self._raw:
            return ()
        from ranklet.runtime.pipelines.relevance import MAX_CALIBRATIONS, Calibration

        wanted = f"a list of at most {MAX_CALIBRATIONS} calibrations"
        found = self._get(key, list, wanted, lambda each: len(each) <= MAX_CALIBRATIONS)
        where = f"{self._where}: {key}"
        return tuple(Calibration.from_json(each, f"{where}[{at}]") for at, each in enumerate(found))

    def splitting(self, key: str) -> Splitting:
        """Return how documents are split."""
        read = _Reader(self.mapping(key), f"{self._where}: {key}")
        return Splitting(read.integer("words"), read.integer("overlap"))

    def numbers(self, key: str) -> dict[str, float]:
        """Return an object whose values are numbers."""
        numbers = self.mapping(key)
        for name, value in numbers.items():
            if type(value) not in (int, float):
                raise BundleError(f"{self._where}: {key}.{name} is {value!r:.80}, not a number")
        return numbers

    def digest(self, key: str) -> str:
        """Return a sha256."""
        wanted = "64 hexadecimal digits"
        return self._get(key, str, wanted, lambda text: bool(re.fullmatch(_SHA256, text)))

    def optional_digest(self, key: str) -> str:
        """Return a sha256, empty if it is missing."""
        return self.digest(key) if key in self._raw else ""

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """Return one of the strings in `allowed`."""
        wanted = f"one of {', '.join(allowed)}"
        return self._get(key, str, wanted, lambda value: value in allowed)

    def names(self, key: str, allowed: tuple[str, ...]) -> list[str]:
        """Return a list of strings in `allowed`."""
        wanted = f"a list of {', '.join(allowed)}"
        return self._get(key, list, wanted, lambda names: all(each in allowed for each in names))


def other_version(version: object, remedy: str) -> str:
    """Return why a format version cannot be read, and what to do; "" if it can.

    >>> other_version(3, "train it again")
    'has format version 3 of an earlier ranklet, and this one reads only 7; train it again'

    Args:
        version: the version that a bundle or a checkpoint has.
        remedy: what to do if it is an earlier one.
    """
    if version == FORMAT_VERSION:
        return ""
    later = isinstance(version, int) and version > FORMAT_VERSION
    whose, remedy = ("a later", "upgrade ranklet") if later else ("an earlier", remedy)
    return (
        f"has format version {version} of {whose} ranklet, and this one reads only "
        f"{FORMAT_VERSION}; {remedy}"
    )


def _ranker(read: _Reader) -> RankerEntry:
    kind, settings = read.choice("kind", tuple(KINDS)), read.mapping("settings")
    replaced = read.optional_mapping("replaced")
    return RankerEntry(
        kind, settings, read.numbers("measured"), replaced, read.optional_digest("encoder")
    )


def _file(read: _Reader) -> FileEntry:
    return FileEntry(read.integer("bytes"), read.digest("sha256"))


def check_path(path: str) -> str:
    """Return the path if a bundle may contain it; raise BundleError otherwise."""
    if not re.fullmatch(_PATH, path) or len(path) > 255 or path == MANIFEST:
        raise BundleError(
            f"{path[:80]!r} is not a path inside the bundle; allowed are plain "
            "relative paths of letters, digits, '_', '-' and '.' that do not start with '.'"
        )
    return path


def check_name(name: str) -> str:
    """Return the name if a ranker or a pipeline may have it; raise BundleError otherwise."""
    if not re.fullmatch(_NAME, name):
        raise BundleError(
            f"{name[:80]!r} is not a name of a ranker or a pipeline; use 1 to 64 letters, digits, "
            "'_' and '-'"
        )
    return name


def _reject(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):  # 1e999
        raise ValueError(f"the number {number[:40]} is too large")
    return value


def _check_depth(value: object, left: int) -> None:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if inside and not left:
        raise ValueError(f"objects and lists are nested more than {MAX_DEPTH} deep")
    for each in inside:
        _check_depth(each, left - 1)


def field_type(declared: str) -> str:
    """Return the type that the field of a column with a declared type has."""
    return DATE if declared in (DMY, MDY) else declared


def in_words(types: Mapping[str, str]) -> str:
    """Return fields with their types, for people.

    >>> in_words({"tags": "list", "year": "number"})
    'tags (list), year (number)'
    """
    return ", ".join(f"{name} ({type_})" for name, type_ in types.items())
