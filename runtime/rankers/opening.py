"""Open the rankers of a bundle, each once and on first use."""

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Ranker
from ranklet.runtime.kinds import ranker_module
from ranklet.runtime.text.analysis import Analysis
from ranklet.runtime.text.names import FIELDS


def open_ranker(files: BundleFiles, name: str) -> Ranker:
    """Return a ranker of a bundle by name, opened on first use.

    Raises:
        UnknownRankerError: the bundle has no ranker of that name.
    """
    files.manifest.check_ranker(name)

    def opened() -> Ranker:
        ranker: Ranker = ranker_module(files.manifest.rankers[name].kind).RANKER.open(files, name)
        return ranker

    return files.once(("ranker", name), opened)


def make_field_analysis(files: BundleFiles, field: str) -> Analysis:
    """Return an analysis of a bundle for a field of an explanation."""
    from ranklet.runtime.answers.explanation import RANKER_FIELD

    if field in FIELDS:
        return files.analyzer.begin()
    ranker = open_ranker(files, field.removeprefix(RANKER_FIELD))
    return (ranker.analyzer or files.analyzer).begin()
