"""HTML out of Python: elements whose text is always escaped."""

from html import escape


class Markup(str):
    """Text that is markup already; every other text is escaped where it is put."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | bool) -> Markup:
    """Return an element.

    >>> element("p", "1 < 2 ", element("b", "yes"), class_="a&b", hidden=True, lang=False)
    '<p class="a&amp;b" hidden>1 &lt; 2 <b>yes</b></p>'

    Args:
        tag: its name.
        children: what it holds: escaped, where it is no Markup.
        attributes: True is one without a value, False none; an underscore within a name stands for
            a hyphen, and one at its end keeps it apart from Python's words.
    """
    written = ""
    for name, value in attributes.items():
        if value is True:
            written += f" {_hyphened(name)}"
        elif value is not False:
            written += f' {_hyphened(name)}="{escape(value)}"'
    return Markup(f"<{tag}{written}>{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """Return texts one after another, escaped where they are no Markup."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children))


def _hyphened(name: str) -> str:
    return name.rstrip("_").replace("_", "-")
