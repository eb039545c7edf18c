import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime.bundles.manifest import Manifest, seal_manifest
from ranklet.runtime.ground.errors import BundleError

if TYPE_CHECKING:
    from tests.conftest import Built

DIGEST = "0" * 64
RETRIEVE = {"stage": "retrieve", "ranker": "bm25", "k": 10}
WRONG_NAMES: tuple[Any, ...] = (None, [], "x")
WRONG_MEASURES: list[Any] = [None, [], {"x": "1"}, {"x": True}]
RIGHT_ENTRY = {"kind": "bm25", "settings": {}, "measured": {}}
RIGHT: dict[str, Any] = {
    "sha256": DIGEST,
    "format_version": 7,
    "ranklet_version": "0.1.0",
    "created": "2026-01-01T00:00:00+00:00",
    "documents": 3,
    "titles": False,
    "languages": ["de", "ast"],
    "normaliser": "stem",
    "splitting": {"words": 180, "overlap": 30},
    "fields": ["lemmas"],
    "rankers": {
        "bm25": {"kind": "bm25", "settings": {"field": "lemmas"}, "measured": {}},
        "m": {
            "kind": "model1", "settings": {}, "measured": {"loss": 0.5, "longer": 3},
            "replaced": {"field": "words"}, "encoder": DIGEST,
        },
    },
    "pipelines": {"bm25": [RETRIEVE]},
    "default_pipeline": "bm25",
    "files": {"text/forms.npy": {"bytes": 7, "sha256": DIGEST}},
    "provenance": {"by": "a test", "π": [1, 2.5, None]},
}  # fmt: skip
# A key and values that it must not have.
WRONG: dict[str, list[Any]] = {
    "sha256": [None, 1, "", "0" * 63],
    "format_version": [0, 6, 8, "7", 7.0, True, None],
    "ranklet_version": [None, 1],
    "created": [None, 1],
    "documents": [-1, 1 << 31, "3", 3.0, True, None],
    "titles": [None, 1, "true", []],
    "languages": [None, [], "de", ["German"], ["DE"], [1], {"de": 1}],
    "normaliser": [None, 1, ["stem"], "lemma"],
    "splitting": [None, 1, [180, 30], {}, {"words": 180}, {"words": -1, "overlap": 0}],
    "fields": [None, "lemmas", ["stems"], [["lemmas"]], {"lemmas": 1}],
    "rankers": [
        None,
        [],
        {"a b": RIGHT["rankers"]["m"]},
        {"": RIGHT["rankers"]["m"]},
        {"x" * 65: RIGHT["rankers"]["m"]},
        {"../x": RIGHT["rankers"]["m"]},
        {"bm25": None},
        {"bm25": {"kind": "bm25", "measured": {}}},
        {"bm25": {"settings": {}, "measured": {}}},
        {"bm25": {"kind": "bm25", "settings": {}}},
        *({"bm25": RIGHT_ENTRY | {"measured": m}} for m in WRONG_MEASURES),
        {"bm25": RIGHT_ENTRY | {"settings": []}},
        *({"bm25": RIGHT_ENTRY | {"replaced": names}} for names in WRONG_NAMES),
        *({"bm25": RIGHT_ENTRY | {"encoder": digest}} for digest in (None, "", "x", 0)),
        *({"bm25": RIGHT_ENTRY | {"kind": k}} for k in ("os", "../evil", "", None, ["bm25"])),
        {},  # the pipeline then names a ranker that is not there
        {"bm25": RIGHT_ENTRY | {"kind": "model1"}},  # which retrieves nothing
    ],
    "pipelines": [
        None,
        [],
        {"a/b": [RETRIEVE]},
        {"bm25": []},
        {"bm25": [RETRIEVE | {"ranker": "x"}]},
        {"bm25": [RETRIEVE | {"k": 0}]},
        {"bm25": [RETRIEVE | {"stage": []}]},
    ],
    "default_pipeline": [None, 1, "", "rrf"],
    "files": [
        None,
        [],
        {"a": None},
        {"a": {"bytes": 1}},
        {"a": {"sha256": DIGEST}},
        {"a": {"bytes": -1, "sha256": DIGEST}},
        {"a": {"bytes": 1.5, "sha256": DIGEST}},
        *({"a": {"bytes": 1, "sha256": d}} for d in ("", "0" * 63, "G" * 64, DIGEST + "\n", 0)),
        *(
            {path: {"bytes": 1, "sha256": DIGEST}}
            for path in (
                *("", "/etc/passwd", "../x", "a/../../b", "a/..", "./a", "a//b", "a/", ".hidden"),
                *("a\\b", "C:a", "a\0", "a\n", "ä", "a b", "x" * 256, "manifest.json", "a/.b"),
            )
        ),
    ],
    "provenance": [None, [], "x"],
}


def text(**changes: Any) -> str:
    return seal_manifest(RIGHT | changes)


def test_the_manifest_of_a_real_bundle_reads_back(built: "Built") -> None:
    written = (built.fused / "manifest.json").read_text("utf-8")
    assert Manifest.from_json(written).to_json() == written


def test_bytes_are_read_too_and_unknown_keys_are_ignored() -> None:
    raw = text(comment="hello").encode()
    assert Manifest.from_json(raw) == Manifest.from_json(text())


@pytest.mark.parametrize("key", WRONG)
def test_a_missing_key_is_refused(key: str) -> None:
    raw = seal_manifest({name: value for name, value in RIGHT.items() if name != key})
    if key == "sha256":
        raw = json.dumps({name: value for name, value in RIGHT.items() if name != key})
    with pytest.raises(BundleError, match=f"manifest.json: {key} is missing; it must be"):
        Manifest.from_json(raw)


def test_only_a_bundle_with_documents_says_how_they_are_split() -> None:
    assert "splitting" not in json.loads(Manifest.from_json(text(documents=0)).to_json())
    rankers = {name: value for name, value in RIGHT.items() if name != "splitting"}
    assert Manifest.from_json(seal_manifest(rankers | {"documents": 0})).splitting == (0, 0)


def test_every_key_is_tried() -> None:
    assert set(WRONG) == set(RIGHT)


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in WRONG.items() for v in values])
def test_a_wrong_value_is_refused(key: str, value: Any) -> None:
    raw = text(**{key: value}) if key != "sha256" else json.dumps(RIGHT | {key: value})
    with pytest.raises(BundleError):
        Manifest.from_json(raw)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        (b"\xff\xfe\xfa", "not valid JSON"),
        (b"\x80", "not valid JSON"),
        ("null", "must be a JSON object, not NoneType"),
        ("[]", "must be a JSON object, not list"),
        ('"text"', "must be a JSON object, not str"),
        (json.dumps(RIGHT | {"x": float("nan")}), "NaN is not a JSON number"),
        (json.dumps(RIGHT | {"x": float("-inf")}), "-Infinity is not a JSON number"),
        (text().replace("2.5", "1e999"), "too large"),
        (text().replace('"documents"', '"documents": 1, "documents"'), "twice"),
        (text().replace('"by"', '"by": 1, "by"'), "twice"),
        ("[" * 100_000, "not valid JSON"),
        ('{"a":' * 100_000, "not valid JSON"),
        (text().replace("null", "[" * 40 + "]" * 40), "nested more than 32 deep"),
        (text().replace("null", "[" * 900 + "]" * 900), "nested more than 32 deep"),
        (text().replace('"documents": 3', '"documents": ' + "9" * 5000), "not valid JSON"),
    ],
    ids=range(17),
)
def test_what_is_no_manifest_is_refused(raw: str | bytes, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        Manifest.from_json(raw)


def test_the_digest_covers_every_byte_but_itself() -> None:
    raw = text()
    manifest = Manifest.from_json(raw)
    manifest.compare(raw)
    digest = manifest.sha256
    assert raw.count(digest) == 1
    assert sha256(raw.replace(digest, "0" * 64).encode()).hexdigest() == digest
    assert seal_manifest(json.loads(raw)) == raw
    with pytest.raises(BundleError, match="changed after export, because its sha256 differs"):
        Manifest.from_json(raw).compare(raw.replace('"stem"', '"step"'))


@pytest.mark.parametrize(
    ("version", "remedy"),
    [(8, "a later ranklet, .* only 7; upgrade"), (6, "an earlier ranklet, .* 7; make it again")],
)
def test_the_error_for_another_version_says_what_to_do(version: int, remedy: str) -> None:
    with pytest.raises(BundleError, match=f"version {version} of {remedy}"):
        Manifest.from_json(text(format_version=version))
