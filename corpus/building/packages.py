"""Find out whether all packages are there that indexing needs, before any text is read."""

from importlib.util import find_spec

from ranklet.corpus.languages.names import has_lemmas
from ranklet.runtime.bundles.manifest import Manifest
from ranklet.runtime.errors import MissingPackageError
from ranklet.runtime.extras import EXTRAS, install, sufficient


def check_packages(manifest: Manifest, normaliser: str) -> None:
    """Raise MissingPackageError with one command that installs all that is missing.

    Args:
        manifest: of the bundle whose rankers read texts.
        normaliser: what the forms of a word have in common there.
    """
    networks = any(path.endswith(".onnx") for path in manifest.files)
    needed = [*(["simplemma"] if has_lemmas(normaliser) else []), *(EXTRAS["onnx"] * networks)]
    missing = [each for each in needed if find_spec(each) is None]
    if missing:
        extras = dict.fromkeys(map(sufficient, missing))
        raise MissingPackageError(
            f"{', '.join(map(repr, missing))} {'is' if len(missing) == 1 else 'are'} not "
            f"installed; run: {install(','.join(extras))}",
            name=missing[0],
        )
