"""The languages that a collection may have, by code and by English name."""

from ranklet.runtime.ground.errors import InputError, suggest
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
    shown = {code: f"{code} ({name})" for code, name in LANGUAGES.items()}
    shown |= {name: shown[code] for name, code in by_name.items()}
    raise InputError(
        f"unknown language {given!r}{suggest(wanted, shown, 3, 0.5)}; give a code such as 'de', an "
        "English name, or 'auto', which finds out the language of each document"
    )
