"""The extras of the distribution, and which one to install for a missing package.

The table repeats pyproject.toml, which is not installed; a test compares them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ranklet.runtime.ground.errors import MissingPackageError

# The names that the packages of each extra are imported by.
EXTRAS = {
    "onnx": ("onnxruntime", "tokenizers"),
    "gpu": ("onnxruntime", "tokenizers"),
    "hnsw": ("hnswlib",),
    "s3": ("boto3",),
    "lambda": ("awslambdaric", "snapshot_restore_py"),
    "http": ("httptools", "prometheus_client", "starlette", "uvicorn"),
    "otel": ("opentelemetry",),
    "langchain": ("langchain_core",),
    "llamaindex": ("llama_index",),
    "haystack": ("haystack",),
    "pyterrier": ("ir_datasets", "pyterrier"),
    "milvus": ("pymilvus",),
    "japanese": ("fugashi", "unidic_lite"),
    "chinese": ("rjieba",),
    "icu": ("icu4py",),
    "documents": ("pypdf", "python_calamine"),
    "parquet": ("pyarrow",),
    "stores": ("chromadb", "faiss", "lancedb"),
    "ray": ("ray",),
    "zst": ("zstandard",),
    "train": ("safetensors", "sentence_transformers", "torch", "transformers"),
    "export": ("onnx", "onnxscript"),
    "openvino": ("openvino", "nncf"),
}
# The extras in each of these extras.
INCLUDED = {"lambda": ("s3",), "train": ("onnx",), "export": ("train",)}


def install(extra: str) -> str:
    """Return the command that installs an extra from where ranklet itself was installed.

    >>> install("http").startswith("pip install "), "[http]" in install("http")
    (True, True)
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:  # PEP 610
        origin = json.loads(distribution("ranklet").read_text("direct_url.json") or "{}")
        address, editable = origin.get("url", ""), origin.get("dir_info", {}).get("editable")
    except (PackageNotFoundError, ValueError, AttributeError):
        address, editable = "", False
    if address.startswith("file:"):
        flag = "--editable " if editable else ""
        return f"pip install {flag}'{unquote(urlsplit(address).path)}[{extra}]'"
    if address:
        form = origin.get("vcs_info", {}).get("vcs")
        return f"pip install 'ranklet[{extra}] @ {f'{form}+' if form else ''}{address}'"
    return f"pip install 'ranklet[{extra}]'"


def sufficient(package: str, needs: str = "") -> str:
    """Return the smallest extra that has a package and what else is needed; "" if none does.

    Args:
        package: the name that is imported.
        needs: the smallest extra with all else that the caller needs; "" for nothing else.

    >>> sufficient("boto3"), sufficient("torch", "export"), sufficient("hnswlib", "export")
    ('s3', 'export', 'hnsw')
    """
    own = next((extra for extra, packages in EXTRAS.items() if package in packages), "")
    return needs if own in _with_included(needs) else own


def _with_included(extra: str) -> Iterator[str]:
    """Yield an extra and those in it."""
    yield extra
    for each in INCLUDED.get(extra, ()):
        yield from _with_included(each)


@contextmanager
def hint_packages(needs: Callable[[], str] = str) -> Iterator[None]:
    """Say in the error of a missing package how to install it.

    Args:
        needs: returns the smallest extra with all that the caller needs, so that one installation
            is enough; "" for the smallest one with the package.

    Raises:
        MissingPackageError: a package could not be imported.
    """
    try:
        yield
    except MissingPackageError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "ranklet"):  # a fault of ranklet, which no installation would repair
            raise
        extra = sufficient(package, needs())
        raise MissingPackageError(
            f"the package {package!r} is not installed; run: "
            f"{install(extra) if extra else f'pip install {package}'}",
            name=package,
        ) from error
