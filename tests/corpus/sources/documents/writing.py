"""Write small documents of the kinds that people have; nothing of others is kept here."""

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = b"BT /F1 12 Tf 40 700 Td %s ET"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def lines(*texts: str) -> bytes:
    """Return the content of a page of PDF, a line per text."""
    return PAGE % b" 0 -20 Td ".join(f"({text}) Tj".encode() for text in texts)


def write_pdf(
    path: Path,
    pages: Sequence[bytes],
    *,
    title: str = "",
    times: int = 1,
    font: tuple[bytes, bytes] = (FONT, b""),
) -> Path:
    """Write a PDF with these contents of pages, each of them so many times.

    The font may name a table of its characters as 99 0 R.
    """
    info = f"<</Title({title})>>".encode()
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (times * len(pages), b" ".join([kids] * times)),
        font[0].replace(b"99 0 R", b"%d 0 R" % (5 + 2 * len(pages))),
        info,
    ]
    for number, page in enumerate(pages):
        packed = zlib.compress(page)
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>"
            b"/Contents %d 0 R>>" % (6 + 2 * number),
            b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
        ]
    objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(font[1]), font[1]))
    data, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    data += b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        data.index(b"xref\n"),
    )
    path.write_bytes(data)
    return path


def write_zip(path: Path, parts: dict[str, str | Iterable[bytes]]) -> Path:
    """Write a zip file with these parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            with file.open(name, "w") as out:
                for piece in [part.encode()] if isinstance(part, str) else part:
                    out.write(piece)
    return path


def relations(*named: tuple[str, str, str]) -> str:
    """Return the part that relates ids to types and targets."""
    each = "".join(
        f'<Relationship Id="{id_}" Type="{_RELATED}/{kind}" Target="{target}"/>'
        for id_, kind, target in named
    )
    return f'<Relationships xmlns="{_RELATED}">{each}</Relationships>'


def write_word(path: Path, body: str | Iterable[bytes]) -> Path:
    """Write a .docx file with this XML as its document."""
    main = relations(("a", "officeDocument", "word/document.xml"))
    return write_zip(path, {"_rels/.rels": main, "word/document.xml": body})


def word(body: str) -> str:
    """Return the XML of a document with this body."""
    return f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
