"""Open the search of a bundle, with what was added to it."""

from ranklet.runtime.bundles.additions import read_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import BundleError
from ranklet.runtime.search.local import LocalSearch


def open_search(files: BundleFiles, before: LocalSearch | None = None) -> LocalSearch:
    """Return the search of a bundle with all that was added to it.

    Args:
        files: the bundle.
        before: an earlier search of the same bundle, whose parts are used again.

    Raises:
        BundleError: the list of additions, or one of them, is damaged.
        RemoteError: they cannot be read.
    """
    while True:
        additions = read_additions(files)
        if not additions.version:
            return LocalSearch(files)
        from ranklet.runtime.search.parted import PartedSearch  # few bundles need it

        try:
            return PartedSearch(files, additions, before)
        except BundleError:  # perhaps the additions were joined after the list was read
            if read_additions(files) == additions:
                raise
