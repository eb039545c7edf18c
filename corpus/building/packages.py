"""Find out whether all packages are there that indexing needs, before any text is read."""

from importlib.util import find_spec

from ranklet.runtime.bundles.manifest import Manifest
from ranklet.runtime.ground.errors import MissingPackageError
from ranklet.runtime.ground.extras import EXTRAS, install


def check_packages(manifest: Manifest) -> None:
    """Raise MissingPackageError with the command that installs what is missing.

    Args:
        manifest: of the bundle whose rankers read texts.
    """
    networks = any(path.endswith(".onnx") for path in manifest.files)
    missing = [each for each in EXTRAS["onnx"] * networks if find_spec(each) is None]
    if missing:
        raise MissingPackageError(
            f"{', '.join(map(repr, missing))} {'is' if len(missing) == 1 else 'are'} not "
            f"installed; run: {install('onnx')}",
            name=missing[0],
        )
