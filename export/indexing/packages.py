"""Find out whether all packages are there that indexing needs, before any text is read."""

from importlib.util import find_spec

from ranklet.runtime.bundles.manifest import Manifest
from ranklet.runtime.errors import MissingPackageError
from ranklet.runtime.extras import EXTRAS, install
from ranklet.training.indexing.language.names import has_lemmas


def check_packages(manifest: Manifest, normaliser: str) -> None:
    """Raise MissingPackageError with one command that installs all that is missing.

    Args:
        manifest: of the bundle whose rankers read texts.
        normaliser: what the forms of a word have in common there.
    """
    networks = any(path.endswith(".onnx") for path in manifest.files)
    needed = {
        "lexical": ("simplemma",) if has_lemmas(normaliser) else (),
        "onnx": EXTRAS["onnx"] if networks else (),
    }
    missing = {
        extra: [each for each in packages if find_spec(each) is None]
        for extra, packages in needed.items()
    }
    extras = [extra for extra, packages in missing.items() if packages]
    if extras:
        names = [each for packages in missing.values() for each in packages]
        raise MissingPackageError(
            f"{', '.join(map(repr, names))} {'is' if len(names) == 1 else 'are'} not installed; "
            f"run: {install(','.join(extras))}",
            name=names[0],
        )
