"""Read data files of this package, which may lie in a zip, as for zipapp, PEX and Spark.

importlib.resources does so, too, but takes 60 ms to import.
"""

from pathlib import Path


def package_bytes(path: Path) -> bytes:
    """Return the content of a file in a folder of the package, named from a module's ``__file__``.

    Raises:
        OSError: there is none.
    """
    data: bytes = __spec__.loader.get_data(str(path))  # type: ignore[union-attr]
    return data


def package_text(path: Path) -> str:
    """Return the text of a file in UTF-8; see `package_bytes`."""
    return package_bytes(path).decode().replace("\r\n", "\n")
