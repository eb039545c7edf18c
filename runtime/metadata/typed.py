"""Read values as people type them, such as ``4.5`` and ``WMF, "Brown, Sons"``."""

import csv
from contextlib import suppress

from ranklet.runtime.bundles.manifest import FLAG, NUMBER

_YES = (
    "true t yes y 1 ja j wahr w oui o vrai v sí si s verdadero sì vero sim verdadeiro waar tak "
    "prawda да истина はい 是"
)
_NO = "false f no n 0 nein falsch non faux falso não nao nee onwaar nie fałsz нет ложь いいえ 否"
FLAGS = dict.fromkeys(_YES.split(), True) | dict.fromkeys(_NO.split(), False)


def read_typed(text: str, type_: str) -> str | float | bool:
    """Return the value of a type that a text stands for, or the text if it stands for none.

    >>> [read_typed("1", each) for each in ("number", "flag", "string")]
    [1, True, '1']
    """
    if type_ == FLAG:
        return FLAGS.get(text.casefold(), text)
    for kind in (int, float) if type_ == NUMBER else ():
        with suppress(ValueError):
            return kind(text)
    return text


def split_values(text: str) -> list[str]:
    """Return the values between commas; one in quotation marks may have commas of its own.

    >>> split_values('WMF, "Brown, Sons"')
    ['WMF', 'Brown, Sons']
    """
    try:
        (found,) = csv.reader([text], skipinitialspace=True)
    except (csv.Error, ValueError):  # a line break, a very long value, or nothing
        return [text]
    return [each.strip() for each in found] or [text]
