"""Options of a build are defined once, and given by name or as an instance."""

from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import ranklet
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.ground.errors import InputError
from ranklet.workflows.build_options import BUILD, TITLE_BOOST, BuildOptions

TEXTS = [{"id": "1", "title": "Bread", "text": "Der Teig geht.", "year": "2020"}]


def test_the_signature_names_every_option() -> None:
    found = signature(ranklet.build).parameters
    assert {each.name for each in fields(BuildOptions)} <= set(found)
    assert found["titles"].default is True
    assert "given" not in found


def test_options_by_name_are_those_of_an_instance(tmp_path: Path) -> None:
    named = BUILD.changed(
        {"language": "de", "types": {"year": "number"}, "impacts": "uint8", "models": "m"}
    )
    assert named.words.language == "de"
    assert named.source == SourceOptions(types={"year": "number"})
    assert named.models == ("m",)
    first = ranklet.build(TEXTS, tmp_path / "a", language="de", title_boost=3)
    second = ranklet.build(TEXTS, tmp_path / "b", BUILD.changed({"language": "de"}), title_boost=3)
    assert first.manifest.languages == second.manifest.languages == ("de",)
    assert first.files.settings("bm25").title_boost == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "m"}, "did you mean 'models'"),
        ({"titel_boost": 2}, "did you mean 'title_boost'"),
        ({"titles": False, "title_boost": 2.0}, "titles are not ranked"),
        ({"impacts": "int3"}, "allowed are float32"),
        ({"fusion": "ranks"}, "FusionOptions"),
        ({"language": "xx"}, "xx"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BUILD.changed(given)


def test_titles_that_are_not_ranked_do_not_count_twice() -> None:
    assert BUILD.bm25.title_boost == TITLE_BOOST
    assert BUILD.changed({"titles": False}).bm25.title_boost == 1
