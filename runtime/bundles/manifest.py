"""Read and check the manifest of a bundle, field by field, before anything else is opened.

docs/maintainers/bundle-format.md is the specification. This file is the one place that knows the
schema.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ranklet.runtime.ground import shapes
from ranklet.runtime.ground.errors import BundleError, UnknownRankerError
from ranklet.runtime.ground.frozen import frozen
from ranklet.runtime.ground.shapes import Shape, by_name, list_parts, part, read_parts, to_plain
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
_NO_DIGEST = "0" * 64

_LONGEST_REMARK = 1000  # characters

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
COMMA = "comma"  # a number whose decimals follow a comma
DECLARED_TYPES = (*TYPES, COMMA, DMY, MDY)  # of a column, where somebody says what is in it
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

    kind: str = part(shapes.one_of(KINDS))
    settings: Mapping[str, Any] = part(shapes.OBJECT)  # what was chosen
    # When it was indexed.
    measured: Mapping[str, float] = part(by_name(shapes.NUMBER.read), dict)
    # The settings that indexing replaced because of the collection, as they were exported.
    replaced: Mapping[str, Any] = part(shapes.OBJECT, dict, optional=True)
    # The sha256 of what the stored vectors of documents depend on; "" if there are none.
    encoder: str = part(shapes.DIGEST, "", optional=True)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the entry; what it does not have is left out."""
        return to_plain(self)

    def read_settings(self, name: str) -> Any:
        """Return the kind's settings; raise BundleError with the ranker's name for a bad one."""
        return ranker_module(self.kind).SETTINGS.from_json(self.settings, f"rankers.{name}")


class Splitting(NamedTuple):
    """How the documents of a collection were split into passages; see `Source`."""

    words: int  # in the longest passage; 0 if documents were not split
    overlap: int  # words that a passage may repeat of the one before


UNSPLIT = Splitting(0, 0)


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


def _read_calibrations(raw: list[Any], where: str) -> "tuple[Calibration, ...]":
    from ranklet.runtime.pipelines.relevance import MAX_CALIBRATIONS, Calibration

    if len(raw) > MAX_CALIBRATIONS:
        raise BundleError(f"{where} must be at most {MAX_CALIBRATIONS} calibrations")
    return tuple(Calibration.from_json(each, f"{where}[{at}]") for at, each in enumerate(raw))


def _is_language(code: object) -> bool:
    return isinstance(code, str) and bool(re.fullmatch(_LANGUAGE, code))


def _types(allowed: Sequence[str]) -> Shape:
    """Return the shape of an object whose values are some types, which is sorted by name."""
    read = by_name(shapes.one_of(allowed).read, most=MAX_FIELDS).read
    return shapes.OBJECT._replace(make=lambda raw, where: dict(sorted(read(raw, where).items())))


_SIZE = shapes.whole()
_FILE = shapes.record(FileEntry, {"bytes": _SIZE, "sha256": shapes.DIGEST})
_SPLITTING = shapes.record(Splitting, {"words": _SIZE, "overlap": _SIZE})
_RANKER = shapes.record(RankerEntry, list_parts(RankerEntry))
_LANGUAGES = shapes.several("one or more codes of languages such as 'en'", _is_language, 1)
_CALIBRATIONS = Shape("a list of calibrations", (list,), make=_read_calibrations)


@frozen
class Manifest:
    """The description of a bundle, by fields in the order in which they are written."""

    sha256: str = part(shapes.DIGEST, "", compare=False)  # of its own text; see `seal_manifest`
    ranklet_version: str = part(shapes.TEXT, "")  # this and the next are the writer's
    created: str = part(shapes.TEXT, "")  # ISO 8601, UTC
    # 0 if no collection has been indexed yet
    documents: int = part(shapes.whole((1 << 31) - 1), 0)
    titles: bool = part(shapes.FLAG, True)  # whether titles are ranked and not only shown
    # Codes of the texts' languages, most frequent first.
    languages: tuple[str, ...] = part(_LANGUAGES, ENGLISH)
    # What the forms of a word have in common.
    normaliser: str = part(shapes.one_of(NORMALISERS), STEM)
    # The type of each other field of the documents, sorted by name; see `runtime.metadata`.
    metadata: Mapping[str, str] = part(_types(TYPES), dict, optional=True)
    # The types that were declared for columns, by which those of added documents are read, too.
    declared: Mapping[str, str] = part(_types(DECLARED_TYPES), dict, optional=True)
    # The fields in which the collection is analysed.
    fields: tuple[str, ...] = part(shapes.several(", ".join(FIELDS), FIELDS.__contains__), ())
    # Only a bundle with documents says it.
    splitting: Splitting = part(shapes.OBJECT._replace(make=_SPLITTING), UNSPLIT)
    rankers: Mapping[str, RankerEntry] = part(by_name(_RANKER, check_name), dict)
    pipelines: Mapping[str, Pipeline] = part(by_name(Pipeline.from_json, check_name), dict)
    default_pipeline: str = part(shapes.TEXT, "")
    # What judged queries taught about scores.
    relevance: "tuple[Calibration, ...]" = part(_CALIBRATIONS, (), optional=True)
    files: Mapping[str, FileEntry] = part(by_name(_FILE, check_path), dict)  # the writer's
    provenance: Mapping[str, Any] = part(shapes.OBJECT, dict)  # for people, never interpreted

    def to_json(self) -> str:
        """Return the text of ``manifest.json``; equal contents give equal texts."""
        content = {"format_version": FORMAT_VERSION} | to_plain(self)
        for name in {"metadata", "declared", "files"} & content.keys():
            content[name] = dict(sorted(content[name].items()))
        content["files"] = {path: each._asdict() for path, each in content["files"].items()}
        content["splitting"] = self.splitting._asdict()
        if not self.documents:
            del content["splitting"]
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
        where = f"{MANIFEST}: "
        version = read_parts({"format_version": _SIZE}, raw, where)["format_version"]
        remedy = "make it again with `ranklet build` or `ranklet index`"
        if reason := other_version(version, remedy):
            raise BundleError(f"the bundle {reason}")
        unsplit = raw.get("documents") == 0
        parts = {k: v for k, v in _MANIFEST.items() if not (unsplit and k == "splitting")}
        manifest = cls(**read_parts(parts, raw, where))
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


_MANIFEST = list_parts(Manifest)


def seal_manifest(content: Mapping[str, Any]) -> str:
    """Return the text of ``manifest.json`` with a digest of itself, which is its first value."""
    content = {"sha256": _NO_DIGEST, **{key: content[key] for key in content if key != "sha256"}}
    # In ASCII, because names of folders may contain characters that UTF-8 cannot encode.
    text = json.dumps(content, indent=1, allow_nan=False, default=_plain) + "\n"
    return text.replace(_NO_DIGEST, digest_without(text, _NO_DIGEST), 1)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value.to_json()


def digest_without(text: str | bytes, stated: str) -> str:
    """Return the sha256 of a manifest in which the digest that it states is 64 zeros."""
    from hashlib import sha256  # takes long

    raw = text.encode() if isinstance(text, str) else text
    return sha256(raw.replace(stated.encode(), _NO_DIGEST.encode(), 1)).hexdigest()


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
    return {COMMA: NUMBER, DMY: DATE, MDY: DATE}.get(declared, declared)


def in_words(types: Mapping[str, str]) -> str:
    """Return fields with their types, for people.

    >>> in_words({"tags": "list", "year": "number"})
    'tags (list), year (number)'
    """
    return ", ".join(f"{name} ({type_})" for name, type_ in types.items())
