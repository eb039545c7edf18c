import pytest

from ranklet.runtime.text.irregular import bases, lists
from ranklet.runtime.text.stems import SNOWBALL

LANGUAGES = sorted(lists())


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_form_leads_to_a_form_and_each_leads_to_one_word(language: str) -> None:
    found = bases(language)
    assert language in SNOWBALL
    assert not set(found.values()) & set(found)
    each = [form for group in lists()[language].split(",") for form in group.split()[1:]]
    assert len(each) == len(set(each))


def test_a_language_without_a_list_has_no_irregular_forms() -> None:
    assert bases("th") == {}
