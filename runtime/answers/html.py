"""Write HTML elements whose text is always escaped."""

from html import escape


class Markup(str):
    """Text that is markup already; all other text is escaped."""

    __slots__ = ()


VOID = ("img", "input")  # elements without content, which have no end
GENERATOR = Markup('<meta name="generator" content="ranklet">')  # in the head of every page


def element(tag: str, *children: str, **attributes: str | bool) -> Markup:
    """Return an element. Its content is escaped unless it is Markup.

    True writes an attribute without a value, False writes none. An underscore in a name becomes a
    hyphen; one at its end, as in ``class_``, is dropped.

    >>> element("p", "1 < 2 ", element("b", "yes"), class_="a&b", hidden=True, lang=False)
    '<p class="a&amp;b" hidden>1 &lt; 2 <b>yes</b></p>'
    """
    written = ""
    for name, value in attributes.items():
        if value is True:
            written += f" {_hyphened(name)}"
        elif value is not False:
            written += f' {_hyphened(name)}="{escape(value)}"'
    end = "" if tag in VOID else f"</{tag}>"
    return Markup(f"<{tag}{written}>{join(*children)}{end}")


def join(*children: str) -> Markup:
    """Return texts one after another, escaped unless they are Markup."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children))


def _hyphened(name: str) -> str:
    return name.rstrip("_").replace("_", "-")
