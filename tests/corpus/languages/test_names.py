import pytest

from ranklet.corpus.languages.names import ALIASES, LANGUAGES, language_code
from ranklet.runtime.ground.errors import InputError


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("de", "de"),
        ("DE", "de"),
        (" German ", "de"),
        ("zh-Hans", "zh"),
        ("pt_BR", "pt"),
        ("hr", "hbs"),
    ],
)
def test_a_language_has_a_code_a_name_and_regions(given: str, code: str) -> None:
    assert language_code(given) == code


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("germen", r"did you mean 'de \(German\)'"),
        ("fre", r"fr \(French\)"),
        ("qqqqq", "such as 'de'"),
    ],
)
def test_an_unknown_language_is_refused_with_close_ones(given: str, named: str) -> None:
    with pytest.raises(InputError, match=f"unknown language {given!r}.*{named}"):
        language_code(given)


@pytest.mark.parametrize("given", [None, 3, ["de"]])
def test_a_language_is_a_text(given: object) -> None:
    with pytest.raises(InputError, match="must be a code"):
        language_code(given)


def test_aliases_lead_to_languages() -> None:
    assert set(ALIASES.values()) <= set(LANGUAGES)
    assert not set(ALIASES) & set(LANGUAGES)
