from pathlib import Path

import pytest

from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.ground.errors import InputError


def test_the_language_becomes_its_code() -> None:
    assert TextOptions(language="German").language == "de"
    assert TextOptions(language="auto").language == "auto"


def test_what_is_not_allowed_is_refused() -> None:
    with pytest.raises(InputError, match="unknown language 'klingon'"):
        TextOptions(language="klingon")
    with pytest.raises(InputError, match="stem, none"):
        TextOptions(normaliser="lemma")
    with pytest.raises(InputError, match="leave --normaliser out"):
        TextOptions(normaliser="none", forms=Path("forms.tsv"))


def test_an_earlier_analysis_is_reproduced_unless_it_had_a_file_of_forms() -> None:
    assert TextOptions.of(("de",), "none") == TextOptions(language="de", normaliser="none")
    assert TextOptions.of(("de", "en"), "stem") == TextOptions(language="auto")
    assert TextOptions(forms=Path("forms.tsv")).method == "forms"
    with pytest.raises(InputError, match="pass --language and --forms again"):
        TextOptions.of(("de",), "forms")
