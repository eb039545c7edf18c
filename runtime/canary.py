"""Answers of a bundle that are kept, to notice another processor, model, tokenizer or version.

They lie beside the bundle, as NAME.canary.json, and not in it, because with 8 bits an answer
depends on the processor, and bundles are equal to the byte wherever they are made.
"""

import json
import platform
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError
from ranklet.runtime.writing.atomic_file import atomic_file

QUERIES, DEPTH = 20, 10
PACKAGES = ("ranklet", "numpy", "onnxruntime", "tokenizers", "openvino")
PARTS = {"networks": (".onnx", ".xml", ".bin"), "tokenizers": ("tokenizer.json",)}
FORMAT = "ranklet canary"


class Difference(NamedTuple):
    """What is no longer as it was.

    Attributes:
        facts: of the machine, the packages and the bundle, as lines for people.
        queries: those whose first documents, or the order of these, are others.
        asked: how many queries were asked.
        score: the largest difference of a score of the same document, a share of the best score.
    """

    facts: list[str]
    queries: list[str]
    asked: int
    score: float


def canary_path(bundle: Bundle) -> Path:
    """Return the place of the kept answers of a bundle on disk."""
    path = Path(bundle.path)
    return path.with_name(f"{path.name}.canary.json")


def record(bundle: Bundle) -> Path:
    """Keep a bundle's answers to some queries of its own texts.

    Raises:
        InputError: the bundle has no text.
    """
    path, queries = canary_path(bundle), bundle.sample_texts(QUERIES)
    if not queries:
        raise InputError(f"{str(bundle.path)!r} has no texts to ask for")
    answers = {query: _answer(bundle, query) for query in queries}
    kept = {"format": FORMAT, "facts": _facts(bundle), "answers": answers}
    with atomic_file(path) as file:
        file.write(json.dumps(kept, ensure_ascii=False, indent=1).encode())
    return path


def compare(bundle: Bundle) -> Difference:
    """Ask again, and return what differs.

    Raises:
        InputError: the file holds something else.
    """
    path = canary_path(bundle)
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["format"] != FORMAT:
            raise ValueError("it has another format")
        before, answers = dict(kept["facts"]), dict(kept["answers"])
        pairs = {
            query: [(str(name), float(score)) for name, score in hits]
            for query, hits in answers.items()
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{str(path)!r} cannot be read ({error}); remove it to keep today's answers"
        ) from error
    now = _facts(bundle)
    facts = [
        f"{name}: {before.get(name)}, now {now.get(name)}"
        for name in now.keys() | before.keys()
        if before.get(name) != now.get(name)
    ]
    changed, largest = [], 0.0
    for query, wanted in pairs.items():
        found = _answer(bundle, query)
        if [name for name, _ in found] != [name for name, _ in wanted]:
            changed.append(query)
        scores, best = dict(found), max((abs(score) for _, score in wanted), default=1.0) or 1.0
        both = [abs(scores[name] - score) / best for name, score in wanted if name in scores]
        largest = max(largest, *both, 0.0)
    return Difference(sorted(facts), changed, len(pairs), largest)


def _answer(bundle: Bundle, query: str) -> list[tuple[str, float]]:
    return [(name, float(score)) for name, score in bundle.rank_ids(query, k=DEPTH)]


def _facts(bundle: Bundle) -> dict[str, Any]:
    facts: dict[str, Any] = {"processor": processor(), "system": platform.platform()}
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    parts: dict[str, Any] = {}
    for name, entry in sorted(bundle.manifest.files.items()):
        part = next((of for of, ends in PARTS.items() if name.endswith(ends)), "other files")
        parts.setdefault(part, sha256()).update(f"{name} {entry.sha256}\n".encode())
    return facts | {name: digest.hexdigest()[:12] for name, digest in parts.items()}


def processor() -> str:
    """Return the processor's name; Linux alone says it in a file."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
