"""Read texts and presentations of Office: .docx and .pptx (ISO/IEC 29500)."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ranklet.corpus.collections.headings import Heading
from ranklet.corpus.sources.documents.archive import Archive, Event
from ranklet.corpus.sources.documents.part import Part, Parts

# A text box is there twice, for old readers too. What was moved is there where it was, too.
_UNSEEN = ("Fallback", "moveFrom")
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_TITLES = ("title", "ctrTitle")
_LEVELS = {"title": 1, **{f"heading {level}": level for level in range(1, 10)}}
_BETWEEN = "\n\n"  # paragraphs
_REPEATED = ("dt", "ftr", "hdr", "sldNum", "sldImg")  # of every slide: a date, a footer, a number


class Paragraph(NamedTuple):
    """A paragraph with the id of its style, and the kind of the slide's placeholder it is in."""

    text: str
    style: str
    placeholder: str


def read_word(path: Path) -> Parts:
    """Yield the text of a .docx file with its notes, without headers, footers and comments."""
    with Archive(path) as archive:
        main = archive.main()
        related = list(archive.related(main).values())
        levels = dict[str, int]()
        for kind, target in related:
            if kind == "styles":
                levels |= _levels(archive.events(target))
        texts = list(paragraphs(archive.events(main)))
        titles = [each for each in texts if levels.get(each.style) == 1][:1]
        texts = [each for each in texts if each not in titles]
        for kind, target in related:
            if kind in ("footnotes", "endnotes"):
                texts += paragraphs(archive.events(target))
    headings, at = list[Heading](), 0
    for each in texts:
        if level := levels.get(each.style):
            headings.append(Heading(at, level, each.text.partition("\n")[0]))
        at += len(each.text) + len(_BETWEEN)
    yield Part(_join(titles, " "), _join(texts), headings=headings)


def read_slides(path: Path) -> Parts:
    """Yield the slides of a .pptx file with their notes."""
    with Archive(path) as archive:
        main = archive.main()
        related = archive.related(main)
        ids = [
            attributes.get("r:id", "")
            for kind, name, attributes in archive.events(main)
            if (kind, name) == ("begin", "sldId")
        ]
        for page, slide in enumerate((related[each].target for each in ids if each in related), 1):
            notes = [
                each.target for each in archive.related(slide).values() if each.kind == "notesSlide"
            ]
            texts = [
                each
                for part in (slide, *notes)
                for each in paragraphs(archive.events(part))
                if each.placeholder not in _REPEATED
            ]
            titles = [each for each in texts if each.placeholder in _TITLES]
            yield Part(
                _join(titles, " "), _join(each for each in texts if each not in titles), page
            )


def paragraphs(events: Iterable[Event]) -> Iterator[Paragraph]:
    """Yield the paragraphs that have text, in the order of the file."""
    pieces: list[str] = []
    style = placeholder = ""
    run = text = unseen = 0  # elements that are open
    for kind, name, attributes in events:
        if kind == "text":
            if text and not unseen:
                pieces.append(name)
            continue
        step = 1 if kind == "begin" else -1
        run += step * (name == "r")
        text += step * (name == "t")
        unseen += step * (name in _UNSEEN)
        if name == "p":  # one of a text box begins inside of another
            if said := "".join(pieces).strip():
                yield Paragraph(said, style, placeholder)
            pieces, style = [], ""
        elif step < 0:
            continue
        elif name in _BREAKS:
            pieces += _BREAKS[name] if run or name != "tab" else ""  # else it is a tabulator's stop
        elif name == "pStyle":
            style = attributes.get("val", "")
        elif name == "ph":
            placeholder = attributes.get("type", "body")
        elif name in ("sp", "graphicFrame"):
            placeholder = ""


def _levels(events: Iterable[Event]) -> dict[str, int]:
    """Return the level of each style of headings, whose names are English in every language."""
    found, style = dict[str, int](), ""
    for kind, name, attributes in events:
        if kind == "begin" and name == "style":
            style = attributes.get("styleId", "")
        elif name == "name" and (level := _LEVELS.get(attributes.get("val", "").lower())):
            found[style] = level
    return found


def _join(texts: Iterable[Paragraph], between: str = _BETWEEN) -> str:
    return between.join(each.text for each in texts)
