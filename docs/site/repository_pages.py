"""A hook of mkdocs: pages that lie outside docs/ become part of the built documentation.

In the repository every link is relative to its file, as code-hosting sites want it. In the built
pages a link to such a page leads to its copy, and a link to a source file becomes plain text.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
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


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, under the paths that they have in the built documentation."""
    for path, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of a page from paths in the repository to paths in the documentation."""
    del config
    source = Path(str(page.file.abs_src_path))
    pages = {Path(each.abs_src_path).resolve(): each.src_uri for each in files if each.abs_src_path}

    def turned(link: re.Match[str]) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        target = (source.parent / path).resolve()
        if target in pages:
            here = posixpath.dirname(page.file.src_uri)
            return f"[{text}]({posixpath.relpath(pages[target], here or '.')}{anchor})"
        # What does not exist stays a link, which mkdocs then reports as broken.
        return text if target.is_relative_to(ROOT) and target.exists() else link[0]

    return LINK.sub(turned, markdown)
