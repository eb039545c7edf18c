"""The languages that a collection may have, by code and by English name."""

from difflib import get_close_matches

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.text.stems import LANGUAGES as LANGUAGES

AUTO = "auto"  # found out for each document

# Other codes of the same languages.
ALIASES = {
    "no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs", "sh": "hbs", "fil": "tl", "iw": "he",
    "wuu": "zh", "yue": "zh", "ary": "ar", "arz": "ar",
}  # fmt: skip


def language_code(given: object) -> str:
    """Return the code of a language that is given by its code or its English name.

    Raises:
        InputError: it is unknown; the message lists those that are spelled alike.

    >>> language_code("German"), language_code("pt-BR"), language_code("no"), language_code("auto")
    ('de', 'pt', 'nb', 'auto')
    """
    if not isinstance(given, str):
        raise InputError(f"language is {given!r}; it must be a code such as 'de', or 'auto'")
    wanted = given.strip().casefold()
    by_name = {name.casefold(): code for code, name in LANGUAGES.items()}
    code = by_name.get(wanted) or wanted.partition("-")[0].partition("_")[0]
    code = ALIASES.get(code, code)
    if code in LANGUAGES or code == AUTO:
        return code
    alike = [by_name[name] for name in get_close_matches(wanted, by_name, 3)]
    alike += [each for each in get_close_matches(wanted, LANGUAGES, 3, 0.5) if each not in alike]
    shown = [f"{code} ({LANGUAGES[code]})" for code in alike or ["de", "en", "es", "fr", "zh"]]
    raise InputError(
        f"unknown language {given!r}; {'did you mean' if alike else 'known are, for example,'} "
        f"{', '.join(shown)}? 'auto' finds out the language of each document"
    )
