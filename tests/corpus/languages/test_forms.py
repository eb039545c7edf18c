from pathlib import Path

import pytest

from ranklet.corpus.languages.forms import read_forms
from ranklet.runtime.ground.errors import InputError


def written(folder: Path, content: str) -> Path:
    path = folder / "forms.tsv"
    path.write_text(content, "utf-8")
    return path


def test_forms_and_lemmas_are_folded_and_followed_to_the_end(tmp_path: Path) -> None:
    path = written(tmp_path, "Häuser\tHaus\n\nmice\tmouses\nmouses\tmouse\na\tb\nb\ta\n")
    assert read_forms(path, "de") == {
        "hauser": "haus", "mice": "mouse", "mouses": "mouse", "a": "a", "b": "a",
    }  # fmt: skip


def test_what_is_no_list_of_forms_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2 must have a form, a tab and its lemma"):
        read_forms(written(tmp_path, "mice\tmouse\nmice, mouse\n"), "en")
    with pytest.raises(InputError, match="cannot be read"):
        read_forms(tmp_path / "missing.tsv", "en")
