"""Read texts and presentations of Office: .docx and .pptx (ISO/IEC 29500)."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ranklet.corpus.collections.bounds import Text
from ranklet.corpus.collections.headings import Heading
from ranklet.corpus.sources.documents.archive import Archive, Event
from ranklet.corpus.sources.documents.part import Part, Parts, describe_fault

# A text box is there twice, for old readers too. What was moved is there where it was, too. What
# stands above Japanese words says how they sound, and would divide them.
_UNSEEN = ("Fallback", "moveFrom", "rt")
_BREAKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_TITLES = ("title", "ctrTitle")
_LEVELS = {"title": 1, **{f"heading{level}": level for level in range(1, 10)}}
_BETWEEN = "\n\n"  # paragraphs
_REPEATED = ("dt", "ftr", "hdr", "sldNum", "sldImg")  # of every slide: a date, a footer, a number
_OFF = ("0", "false", "off")


class Paragraph(NamedTuple):
    """A paragraph.

    Attributes:
        text: what it says.
        style: the id of its style.
        outline: its own level among headings from "0"; "" if that is its style's.
        placeholder: the kind of the slide's placeholder that it is in.
    """

    text: str
    style: str
    outline: str
    placeholder: str


class Style(NamedTuple):
    """A style of paragraphs: its name, its level among headings and the style it is based on."""

    key: str
    name: str
    outline: str
    base: str


def read_word(path: Path) -> Parts:
    """Yield the text of a .docx file with its notes, without headers, footers and comments."""
    with Archive(path) as archive:
        main = archive.main()
        related = list(archive.related(main).values())
        styles = dict[str, Style]()
        for kind, target in related:
            if kind == "styles":
                found = archive.kept(_read_styles(archive.events(target)))
                styles |= {each.key: each for each in found}
        title, text, headings = "", Text(path), list[Heading]()
        for each in paragraphs(path, archive.events(main)):
            level = _level(each, styles)
            if level == 1 and not title:
                title = each.text
                continue
            at = _append(text, each)
            if level:
                headings += archive.kept([Heading(at, level, each.text.partition("\n")[0])])
        for kind, target in related:
            if kind in ("diagramData", "footnotes", "endnotes"):
                for each in paragraphs(path, archive.events(target)):
                    _append(text, each)
    yield Part(title, str(text), headings=headings)


def read_slides(path: Path) -> Parts:
    """Yield the slides of a .pptx file with their notes."""
    with Archive(path) as archive:
        main = archive.main()
        related = archive.related(main)
        ids = archive.kept(
            attributes.get("r:id", "")
            for kind, name, attributes in archive.events(main)
            if (kind, name) == ("begin", "sldId")
        )
        slides = [related[each].target for each in ids if each in related]
        for page, slide in enumerate(slides, 1):
            try:
                yield _read_slide(path, archive, slide, page)
            except Exception as error:
                yield Part("", "", page, fault=describe_fault(path, error))


def _read_slide(path: Path, archive: Archive, slide: str, page: int) -> Part:
    title, text = Text(path), Text(path)
    others = archive.related(slide).values()
    kinds = ("diagramData", "notesSlide")
    targets = [each.target for kind in kinds for each in others if each.kind == kind]
    for target in (slide, *targets):
        for each in paragraphs(path, archive.events(target)):
            if each.placeholder in _TITLES:
                _append(title, each, " ")
            elif each.placeholder not in _REPEATED:
                _append(text, each)
    return Part(str(title), str(text), page)


def _append(text: Text, paragraph: Paragraph, between: str = _BETWEEN) -> int:
    """Add a paragraph to a text, and return where it begins."""
    text.add(between * (text.size > 0))
    at = text.size
    text.add(paragraph.text)
    return at


def paragraphs(path: Path, events: Iterable[Event]) -> Iterator[Paragraph]:
    """Yield the paragraphs that have text, in the order of the file.

    Raises:
        CollectionError: one of them is longer than a text may be.
    """
    text, style, outline, placeholder = Text(path), "", "", ""
    shown = unseen = properties = 0  # elements that are open, of properties of paragraphs, too
    hidden = list[bool]()  # whether each open run vanishes
    for kind, name, attributes in events:
        if kind == "text":
            if shown and not unseen and not any(hidden):
                text.add(name)
            continue
        step = 1 if kind == "begin" else -1
        shown += step * (name == "t")
        unseen += step * (name in _UNSEEN)
        properties += step * (name in ("pPr", "rPrChange"))
        if name == "r":
            if step > 0:
                hidden.append(False)
            else:
                hidden.pop()
        elif name == "p":  # one of a text box begins inside of another
            if said := str(text).strip():
                yield Paragraph(said, style, outline, placeholder)
            text, style, outline = Text(path), "", ""
        elif step < 0:
            continue
        elif name in _BREAKS:
            if hidden or name != "tab":  # else it is a tabulator's stop
                text.add(_BREAKS[name])
        elif name == "vanish" and hidden and not properties:
            hidden[-1] = attributes.get("val") not in _OFF
        elif name == "pStyle" and properties == 1:  # not what it was before a change
            style = attributes.get("val", "")
        elif name == "outlineLvl" and properties == 1:
            outline = attributes.get("val", "")
        elif name == "ph":
            placeholder = attributes.get("type", "body")
        elif name in ("sp", "graphicFrame"):
            placeholder = ""


def _read_styles(events: Iterable[Event]) -> Iterator[Style]:
    key = name = outline = base = ""
    for kind, element, attributes in events:
        if element == "style":
            if kind == "end":
                yield Style(key, name, outline, base)
            key, name, outline, base = attributes.get("styleId", ""), "", "", ""
        elif kind == "end":
            continue
        elif element == "name":
            name = attributes.get("val", "")
        elif element == "outlineLvl":
            outline = attributes.get("val", "")
        elif element == "basedOn":
            base = attributes.get("val", "")


def _level(paragraph: Paragraph, styles: Mapping[str, Style]) -> int:
    """Return the level of a heading from 1; 0 if a paragraph is none.

    A paragraph says it, or its style, or one that this is based on. Word's own styles have English
    names in every language, and a file may leave out what Word knows of them.
    """
    key, outline, seen = paragraph.style, paragraph.outline, set[str]()
    while not outline and key and key not in seen:
        seen.add(key)
        style = styles.get(key, Style(key, key, "", ""))
        if level := _LEVELS.get(style.name.lower().replace(" ", "")):
            return level
        outline, key = style.outline, style.base
    return int(outline) + 1 if outline in tuple("012345678") else 0
