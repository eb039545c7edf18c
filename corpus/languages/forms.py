"""Read a list of forms and lemmas, which takes the place of stems."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.text import scripts, words


def read_forms(path: str | Path, language: str) -> dict[str, str]:
    """Return the lemma of each form in a file, both as they are compared.

    The lemma of a lemma is followed to the end; in a cycle it is the smallest.

    Args:
        path: a file with a form, a tab and its lemma on each line, in UTF-8.
        language: the code of their language, or of the most frequent one.

    Raises:
        InputError: the file cannot be read, or a line has no form or no lemma.
    """
    fold = words.fold if language == "en" else scripts.fold
    lemmas: dict[str, str] = {}
    for form, lemma in _lines(path):
        if (folded := fold(form)) != fold(lemma):  # capitals and accents may tell several apart
            lemmas.setdefault(folded, fold(lemma))
    return {form: _last(form, lemmas) for form in lemmas}


def _lines(path: str | Path) -> Iterator[tuple[str, str]]:
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the forms {str(path)!r} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        form, _, lemma = map(str.strip, line.partition("\t"))
        if form and lemma:
            yield form, lemma
        elif line.strip():
            raise InputError(
                f"{path}: line {number} must have a form, a tab and its lemma, not {line!r:.60}"
            )


def _last(form: str, lemmas: Mapping[str, str]) -> str:
    chain = [form]
    while (lemma := lemmas.get(chain[-1])) is not None:
        if lemma in chain:
            return min(chain[chain.index(lemma) :])
        chain.append(lemma)
    return chain[-1]
