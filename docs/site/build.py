"""Build the documentation as web pages, in build/docs/html; exit with 1 if a link is broken.

In the repository every link is relative to its file, as code-hosting sites want it, and some pages
lie outside docs/. In the built pages a link to such a page leads to its copy, and a link to a
source file becomes plain text.
"""

import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CONFIG, CODE = "zensical.toml", "src"
BESIDE = (CONFIG, "docstrings.py")  # what lies beside the pages
STYLE, IMAGES = "style.css", (".png", ".svg")
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "maintainers/contributing.md",
    "benchmarks/RESULTS.md": "maintainers/figures.md",
    "benchmarks/archive.md": "maintainers/archived-figures.md",
    **{
        f"benchmarks/results/{page.name}": f"maintainers/figures/{page.name}"
        for page in sorted((ROOT / "benchmarks" / "results").glob("*.md"))
    },
    "infra/lambda/README.md": "infra/lambda.md",
    "infra/cloudrun/README.md": "infra/cloudrun.md",
    "infra/gpu/README.md": "infra/gpu.md",
}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^()\s#]+)(#[^()\s]*)?\)")


def pages() -> dict[Path, str]:
    """Return the place of each page in the built documentation, by its file."""
    docs = ROOT / "docs"
    inside = {path: path.relative_to(docs).as_posix() for path in sorted(docs.rglob("*.md"))}
    return inside | {ROOT / path: page for path, page in OUTSIDE.items()}


def images() -> dict[Path, str]:
    """Return the place of each image in the built documentation, by its file."""
    docs = ROOT / "docs"
    found = (path for path in sorted(docs.rglob("*")) if path.suffix in IMAGES)
    return {path: path.relative_to(docs).as_posix() for path in found}


def with_turned_links(source: Path, places: dict[Path, str]) -> str:
    """Return a page whose links lead to pages and images of the documentation.

    A link to something else in the repository becomes plain text. What does not exist stays a link,
    which is then reported as broken.

    Args:
        source: the page's file.
        places: see `pages` and `images`.
    """
    here = posixpath.dirname(places[source]) or "."

    def turned(link: re.Match[str]) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        target = (source.parent / path).resolve()
        if target in places:
            return f"[{text}]({posixpath.relpath(places[target], here)}{anchor})"
        return text if target.is_relative_to(ROOT) and target.exists() else link[0]

    return LINK.sub(turned, source.read_text("utf-8"))


def listed(entries: list[Any]) -> Iterator[str]:
    """Yield the pages in a list of the navigation."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from listed(value) if isinstance(value, list) else [value]


def check_navigation(places: dict[Path, str]) -> None:
    """Exit unless the navigation has each page once, which the builder does not check."""
    config = tomllib.loads((ROOT / "docs" / "site" / CONFIG).read_text("utf-8"))
    named = sorted(listed(config["project"]["nav"]))
    if named != sorted(places.values()):
        wrong = sorted(set(named) ^ set(places.values())) or "a page twice"
        sys.exit(f"the navigation in {CONFIG} and the pages differ: {wrong}")


def first_sentence(text: str) -> str:
    """Return the first sentence of a page's first paragraph, without marks of Markdown."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    starts = ("#", "|", "!", "<", ":", "-", ">")
    paragraphs = (each.strip() for each in prose.split("\n\n"))
    first = next((each for each in paragraphs if each and not each.startswith(starts)), "")
    plain = re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split())))
    return re.split(r"(?<=[.!?:]) (?=[A-Z])", plain)[0]


def llms(places: dict[Path, str]) -> str:
    """Return llms.txt: the pages in the order of the navigation, with what each says first."""
    project = tomllib.loads((ROOT / "docs" / "site" / CONFIG).read_text("utf-8"))["project"]
    sources = {page: path for path, page in places.items()}
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}", ""]

    def add(entries: list[Any]) -> None:
        for entry in entries:
            for title, value in entry.items() if isinstance(entry, dict) else [("", entry)]:
                if isinstance(value, list):
                    lines.extend(["", f"## {title}", ""])
                    add(value)
                    continue
                text = sources[value].read_text("utf-8")
                name = title or text.partition("\n")[0].removeprefix("# ")
                address = project["site_url"] + value.removesuffix("md") + "html"
                about = first_sentence(text)
                lines.append(f"- [{name}]({address})" + (f": {about}" if about else ""))

    add(project["nav"])
    return "\n".join(lines) + "\n"


def build(folder: Path) -> int:
    """Write sources into a folder, build the site in its `html`, and return the status."""
    places = pages()
    check_navigation(places)
    shutil.rmtree(folder, ignore_errors=True)
    linked = places | images()
    for source, page in linked.items():
        target = folder / "pages" / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if source in places:
            target.write_text(with_turned_links(source, linked), "utf-8")
        else:
            shutil.copy(source, target)
    own = Path(__file__).parent
    shutil.copy(own / STYLE, folder / "pages" / STYLE)
    for name in BESIDE:
        shutil.copy(own / name, folder / name)
    copied = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(folder / CODE)]
    subprocess.run(copied, cwd=ROOT, check=True)  # noqa: S603, our own command
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    status = subprocess.run(command, cwd=folder, check=False).returncode  # noqa: S603, our own command
    if status == 0:
        (folder / "html" / "llms.txt").write_text(llms(places), "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(build(Path(*sys.argv[1:]) if sys.argv[1:] else ROOT / "build" / "docs"))
