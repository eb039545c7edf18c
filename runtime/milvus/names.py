"""What a collection in Milvus has, in the words of `ranklet publish` and of those who search it."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from hashlib import sha256
from typing import Any

from ranklet.runtime.bundles.files import FREQUENCIES, BundleFiles
from ranklet.runtime.bundles.manifest import DATE, DATETIME, Value
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.metadata.columns import count_days, count_microseconds, day_at, moment_at

# Fields of an entity.
KEY, DOCUMENT, PASSAGE, TITLE, TEXT, METADATA = (
    "key", "document", "passage", "title", "text", "metadata",
)  # fmt: skip
STORED = (KEY, DOCUMENT, PASSAGE, TITLE, TEXT, METADATA)
# Properties of the collection, all of them texts.
ABOUT = "ranklet"  # JSON: what `about` returns
VERSION = 1
# A sparse vector must not be empty, so one without terms has this one, which no vocabulary reaches.
NO_TERM, NO_WEIGHT = (1 << 32) - 2, 1e-6
LONGEST_KEY = 512  # bytes of a key
LONGEST_TEXT = 65_535  # bytes of a title and of a text
# Files on which the vector of a query depends. A ranker over words needs the vocabulary, too.
_OF_QUERIES = re.compile(r".*\.onnx|tokenizer\.json|(table|table_scales|query_weights)\.npy")
_VOCABULARY, _TOKENIZER = "text/", "tokenizer.json"
_OF_SEARCH = ("search", "m", "ef_construction", "ef")  # settings of the bundle's own index
VOCABULARY, SETTINGS = "vocabulary", "settings"  # what is compared besides files


def about(bundle: BundleFiles, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the description that is stored with a collection.

    Args:
        bundle: the bundle to publish.
        fields: the field of each ranker.
    """
    return {
        "version": VERSION,
        "fields": dict(fields),
        "digests": {name: digests(bundle, name) for name in fields},
        "metadata": dict(bundle.manifest.metadata),
        "titles": bundle.manifest.titles,
    }


def digests(bundle: BundleFiles, ranker: str) -> dict[str, str]:
    """Return the sha256 of each file that the vector of a query depends on.

    A bundle may have other variants of a network than the one that was published, so files are
    compared one by one.
    """
    folder, manifest = f"rankers/{ranker}/", bundle.manifest
    found = {
        name.removeprefix(folder): entry.sha256
        for name, entry in manifest.files.items()
        if name.startswith(folder) and _OF_QUERIES.fullmatch(name.rpartition("/")[2])
    }
    described = manifest.rankers[ranker]
    if KINDS[described.kind].needs_collection:
        words = [
            (name, entry.sha256)
            for name, entry in sorted(manifest.files.items())
            if (name.startswith(_VOCABULARY) and name != FREQUENCIES) or name == _TOKENIZER
        ]
        found[VOCABULARY] = _digest(words)
    elif manifest.files.get(_TOKENIZER):
        found.setdefault(_TOKENIZER, manifest.files[_TOKENIZER].sha256)
    exported = {**described.settings, **described.replaced}
    found[SETTINGS] = _digest({k: exported[k] for k in sorted(exported) if k not in _OF_SEARCH})
    return found


def _digest(values: Any) -> str:
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def same(published: Mapping[str, str], own: Mapping[str, str]) -> bool:
    """Return whether two bundles give a query the same vector, as far as their files say.

    All that both have must be equal, and that must be a model or a vocabulary, too.

    >>> same({"model.onnx": "a", "model_int8.onnx": "b"}, {"model.onnx": "a"})
    True
    >>> same({"settings": "a"}, {"settings": "a"})
    False
    >>> same({"model.onnx": "a"}, {"model_int8.onnx": "b"})
    False
    """
    common = published.keys() & own.keys()
    return bool(common - {SETTINGS, _TOKENIZER}) and all(
        published[name] == own[name] for name in common
    )


def stored(metadata: Mapping[str, Value]) -> dict[str, Any]:
    """Return metadata as JSON; days and instants are whole numbers, so that they can be compared.

    >>> stored({"due": date(1970, 1, 2), "year": 2024})
    {'due': 1, 'year': 2024}
    """
    return {name: _stored(value) for name, value in metadata.items()}


def _stored(value: Value) -> Any:
    if isinstance(value, datetime):
        return count_microseconds(value)
    return count_days(value) if isinstance(value, date) else value


def restored(metadata: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Value]:
    """Return metadata as a hit has it; see `stored`.

    >>> restored({"due": 1}, {"due": "date"})
    {'due': datetime.date(1970, 1, 2)}
    """
    makers = {DATE: day_at, DATETIME: moment_at}
    return {
        name: makers[types[name]](value) if types.get(name) in makers else value
        for name, value in metadata.items()
    }
