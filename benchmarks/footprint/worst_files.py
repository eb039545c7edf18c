"""The memory that reading takes of files that stand for as much as they can, per format."""

import base64
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.report import goal, table
from ranklet.corpus.collections.bounds import LONGEST, PIECES

PACKAGES = ("pypdf", "python-calamine")
MOST = 500  # MB
# Reads a file as a build does, with so many seconds of a processor and bytes at most.
_READER = r"""
import re, resource, sys
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
resource.setrlimit(resource.RLIMIT_CPU, (120, 121))
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
try:
    documents = Source(sys.argv[1], SourceOptions(skip_bad=True)).documents()
    said = f"{sum(1 for _ in documents):,} documents"
except MemoryError:
    said = "out of memory"
except Exception as error:
    last = str(error).replace(sys.argv[1], "it").splitlines()[-1].strip()
    said = last.partition("(")[2].rstrip(")") or last
    said = re.split(r"; |\), |, 100 times|, nor ", said)[0].removeprefix("it").lstrip(" :")
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(max(int(peak), children), said[:150], end="")
"""
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEETS = 'xmlns="urn:sheets" xmlns:r="http://a/relationships"'
_SPACES = ("office", "table", "text", "manifest")
_WORD = '<w:document xmlns:w="urn:word">'
_SLIDES = 'xmlns:p="urn:p" xmlns:a="urn:a" xmlns:r="http://a/relationships"'


def run(_: Place) -> str:
    """Write each file into a temporary folder, and read it in a process of its own."""
    rows, worst = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, write in FILES.items():
            path = Path(folder, name.partition(": ")[0])
            write(path)
            said, memory, seconds = _read(path)
            rows.append([name, f"{path.stat().st_size:,}", round(memory), round(seconds), said])
            worst = max(worst, memory)
            path.unlink()
    return f"""
Each file alone, read by a process of its own as `ranklet build` reads it, with 3.11's interpreter \
and all modules.

{table(["file", "bytes", "MB", "s", "what became of it"], rows)}

{goal("most memory", worst, MOST, "MB")}
"""


def _read(path: Path) -> tuple[str, float, float]:
    """Return what became of a file, and the MB and the seconds that reading it took."""
    with subprocess.Popen(
        [sys.executable, "-c", _READER, str(path)], stdout=subprocess.PIPE, cwd=ROOT
    ) as child:
        said = child.stdout.read().decode() if child.stdout else ""
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    kb, _, outcome = said.partition(" ")  # that of the process counts what its parent had, too
    memory = int(kb) if kb else used.ru_maxrss
    return outcome or f"ended by {status}", memory / 1000, used.ru_utime + used.ru_stime


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _zip(path: Path, parts: dict[str, bytes | Iterable[bytes]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            with file.open(name, "w") as out:
                for piece in [part] if isinstance(part, bytes) else part:
                    out.write(piece)


def _relations(*named: tuple[str, str]) -> bytes:
    each = "".join(
        f'<Relationship Id="r{at}" Type="{_RELATED}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(named)
    )
    return f"<Relationships>{each}</Relationships>".encode()


def _around(begin: str, piece: bytes, times: int, end: str) -> Iterable[bytes]:
    """Return pieces of a part that repeats one."""
    many = 1 + (1 << 20) // len(piece)
    return [begin.encode(), *[piece * many] * (times // many), piece * (times % many), end.encode()]


def _office(main: str, parts: dict[str, Any], *related: tuple[str, str]) -> dict[str, Any]:
    folder, _, name = main.rpartition("/")
    return {
        "_rels/.rels": _relations(("officeDocument", main)),
        f"{folder}/_rels/{name}.rels": _relations(*related),
        **parts,
    }


def _sheet(cells: Iterable[bytes], shared: Iterable[bytes] = ()) -> Callable[[Path], None]:
    book = f'<workbook {_SHEETS}><sheets><sheet name="S" r:id="r0"/></sheets></workbook>'
    parts = {"xl/b.xml": book.encode(), "xl/s.xml": cells, "xl/t.xml": shared or b"<sst/>"}
    related = ("worksheet", "s.xml"), ("sharedStrings", "t.xml")
    return lambda path: _zip(path, _office("xl/b.xml", parts, *related))


def _rows(cell: bytes, cells: int, rows: int) -> Iterable[bytes]:
    row = b"<row>" + cell * cells + b"</row>"
    return _around(f"<worksheet {_SHEETS}><sheetData>", row, rows, "</sheetData></worksheet>")


def _word(piece: bytes, times: int, *related: tuple[str, str]) -> Callable[[Path], None]:
    body = _around(f"{_WORD}<w:body>", piece, times, "</w:body></w:document>")
    return lambda path: _zip(path, _office("word/d.xml", {"word/d.xml": body}, *related))


def _ods(path: Path) -> None:
    names = {each: f"urn:oasis:names:tc:opendocument:xmlns:{each}:1.0" for each in _SPACES}
    spaces = " ".join(f'xmlns:{each}="{name}"' for each, name in names.items())
    cell = '<table:table-cell office:value-type="string"><text:p>word</text:p></table:table-cell>'
    rows = f'<table:table-row table:number-rows-repeated="900000">{cell * 9}</table:table-row>'
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": f"<manifest:manifest {spaces}/>",
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>",
    }
    _zip(path, {name: each.encode() for name, each in parts.items()})


def _slides(path: Path) -> None:
    ids = '<p:sldId r:id="r0"/>' * 100_000
    text = "word " * 100_000
    slide = f"<p:sld {_SLIDES}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"
    parts = {"ppt/p.xml": f"<p:x {_SLIDES}>{ids}</p:x>".encode(), "ppt/s.xml": slide.encode()}
    _zip(path, _office("ppt/p.xml", parts, ("slide", "s.xml")))


def _book(chapter: Iterable[bytes], times: int) -> Callable[[Path], None]:
    items = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    order = '<itemref idref="a"/>' * times
    package = f"<package>{items}{order}</package>"
    parts: dict[str, Any] = {
        "META-INF/container.xml": b'<a><rootfile full-path="p.opf"/></a>',
        "p.opf": package.encode(), "a.xhtml": chapter,
    }  # fmt: skip
    return lambda path: _zip(path, parts)


def _pdf(
    contents: list[bytes], codes: bytes = b"", *, pages: int = 1, title: int = 0
) -> Callable[[Path], None]:
    """Write a PDF of pages with these contents, and a font with these characters for its codes."""

    def write(path: Path) -> None:
        first = 7
        font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
        table = zlib.compress(
            b"begincmap\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
            + codes
            + b"\nendcmap",
            9,
        )
        if codes:
            font = b"<</Type/Font/Subtype/Type0/BaseFont/A/ToUnicode 6 0 R/Encoding/Identity-H>>"
        kids = b"".join(b"%d 0 R " % (first + 2 * at) for at in range(len(contents))) * pages
        objects = [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, pages * len(contents)),
            font, b"<</Title(%s)>>" % (b"T" * title), b"<<>>",
            b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(table), table),
        ]  # fmt: skip
        for at, content in enumerate(contents):
            packed = zlib.compress(content, 9)
            objects += [
                b"<</Type/Page/Parent 2 0 R/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>"
                % (first + 2 * at + 1),
                b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
            ]
        out, places = [b"%PDF-1.7\n"], [0]
        for number, each in enumerate(objects, 1):
            places.append(sum(map(len, out[-1:])) + places[-1])
            out.append(b"%d 0 obj\n%s\nendobj\n" % (number, each))
        begin = sum(map(len, out))
        out.append(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
        out += [b"%010d 00000 n \n" % place for place in places[1:]]
        out.append(b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\n" % (len(objects) + 1))
        out.append(b"startxref\n%d\n%%%%EOF" % begin)
        path.write_bytes(b"".join(out))

    return write


def _plain(
    begin: bytes, piece: bytes, end: bytes = b"", size: int = LONGEST
) -> Callable[[Path], None]:
    """Write a text of a size in characters that repeats a piece, compressed if it is called so."""
    count = (size - len(begin) - len(end)) // len(piece.decode())

    def write(path: Path) -> None:
        import gzip

        import zstandard

        data = begin + piece * count + end
        if path.suffix == ".gz":
            data = gzip.compress(data)
        elif path.suffix == ".zst":
            data = zstandard.compress(data)
        path.write_bytes(data)

    return write


def _mail(size: int) -> bytes:
    page = base64.encodebytes(b"<b>a" * (size // 6))
    return b"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n" + page


FILES: dict[str, Callable[[Path], None]] = {
    "a.xlsx: one shared text": _sheet(
        _rows(b'<c t="s"><v>0</v></c>', 16_000, 2),
        [b"<sst><si><t>" + b"word " * 100_000 + b"</t></si></sst>"],
    ),
    "a.xlsx: shared texts": _sheet(
        _rows(b'<c t="s"><v>0</v></c>', 1, 1),
        _around("<sst>", b"<si><t>ab</t></si>", 3_000_000, "</sst>"),
    ),
    "a.xlsx: small cells": _sheet(_rows(b"<c><v>7</v></c>", 16_000, 2_000)),
    "a.xlsx: a long cell": _sheet(
        _around(f"<worksheet {_SHEETS}><row><c t='inlineStr'>", b"<t>ab</t>", 5_000_000, "")
    ),
    "a.xlsx: an attribute without end": _sheet(
        _around(f"<worksheet {_SHEETS} a='", b"word ", 10_000_000, "")
    ),
    "a.ods: repeated cells": _ods,
    "a.docx: small paragraphs": _word(b"<w:p><w:r><w:t>a</w:t></w:r></w:p>", 2_000_000),
    "a.docx: headings": _word(
        b'<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>ab</w:t></w:r></w:p>', 1_000_000
    ),
    "a.docx: small pieces": _word(b"<w:t>ab</w:t>", 5_000_000),
    "a.docx: relations": _word(b"<w:p/>", 1, *[("image", f"{at}.png") for at in range(500_000)]),
    "a.pptx: one slide often": _slides,
    "a.epub: one chapter often": _book(_around("<p>", b"word ", 100_000, ""), 100_000),
    "a.epub: a chapter of tags": _book(_around("", b"<b>a", 7_000_000, ""), 1),
    "a.pdf: long characters": _pdf(
        [b"BT /F 12 Tf <" + b"0041" * 1_000_000 + b"> Tj ET"],
        b"1 beginbfchar\n<0041> <" + b"0041" * 250 + b">\nendbfchar",
    ),
    "a.pdf: pages of one content": _pdf(
        [b"BT /F 12 Tf " + b"(word) Tj " * 100_000 + b"ET"], pages=9_000
    ),
    "a.pdf: one title": _pdf([b"BT /F 12 Tf (word) Tj ET"], pages=9_000, title=1_000_000),
    "a.pdf: operations": _pdf([b"q " * 4_000_000] * 4),
    "a.pdf: numbers": _pdf([b"BT /F 12 Tf [" + b"1 " * 4_000_000 + b"] TJ ET"] * 4),
    "a.pdf: unpacked contents": _pdf([b" " * 8_000_000] * 100),
    "a.pdf: a font of many characters": _pdf(
        [b"BT /F 12 Tf (word) Tj ET"], b"100000 beginbfchar\n" + b"<0041> <0041>\n" * 270_000
    ),
    "a.eml: a page of tags": lambda path: _write(path, _mail(120_000_000)),
    "a.mbox: small messages": _plain(
        b"", b"From a@b.c Fri May 31 12:00:00 2024\n\na\n\n", size=1 << 22
    ),
    "a.html: tags": _plain(b"", b"<p>", size=3 * PIECES),
    "a.html: words in tags": _plain(b"", "<b>жж".encode(), size=5 * PIECES),
    "a.html: headings": _plain(b"", b"<h1>a", size=5 * PIECES),
    "a.html: long and wide": _plain(
        b"", "<p>{}".format("жж" * 50).encode(), size=3 * LONGEST // 4 - 99
    ),
    "a.html.gz: tags": _plain(b"", b"<b>a"),
    "a.md: lists": _plain(b"", b"- a\n"),
    "a.md: emphasis": _plain(b"", b"*a* "),
    "a.md: paragraphs": _plain(b"", b"a\n\n"),
    "a.md: links": _plain(b"[a]: http://b.c/" + b"d" * 1_000_000 + b"\n\n", b"[a] "),
    "a.md: quotations": _plain(b"", b"> > > > > > > a\n\n"),
    "a.md: a table": _plain(b"|" + b"a|" * 1000 + b"\n|" + b"-|" * 1000 + b"\n", b"a\n"),
    "a.txt: long and wide": _plain(b"", "😀".encode()),
    "a.md: long and wide": _plain(
        b"", "{}\n\n".format("жж" * 100).encode(), size=3 * LONGEST // 4 - 99
    ),
    "a.json: lists": _plain(b'[{"text": "a", "b": [', b"[],", b"[]]}]", 3 * PIECES),
    "a.json: objects": _plain(b'{"text": "a", "b": [', b'{"a":[]},', b"1]}", 6 * PIECES),
    "a.json: long and wide": _plain(b'{"text": "', "😀".encode(), b'"}'),
    "a.jsonl: texts": _plain(b'{"text": "a", "b": [', '"жж",'.encode(), b"1]}\n", 10 * PIECES),
    "a.jsonl: long and wide": _plain(b'{"text": "', "😀".encode(), b'"}\n'),
    "a.csv: columns": _plain(b"", b"ab,", size=3 * PIECES - 9),
    "a.csv: fields": _plain(b"text,b\nword,", b'""', b"\n"),
    "a.csv: long and wide": _plain(b"text,b\nword,", "😀".encode(), b"\n"),
    "a.tsv: columns": _plain(b"", b"ab\t", size=3 * PIECES - 9),
    "a.csv.gz: rows": _plain(b"text\n", b"some words\n", size=20 * LONGEST),
    "a.jsonl.zst: rows": _plain(b"", b'"some words"\n', size=20 * LONGEST),
}
