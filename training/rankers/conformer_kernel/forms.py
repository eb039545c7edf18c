"""Recognise weights that the authors' code of the Conformer-Kernel has saved."""

from ranklet.runtime.rankers.conformer_kernel.settings import ARCHITECTURES
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.forms import Form, Match


def recognises(folder: ModelFolder) -> Match:
    """Return whether a folder's config.json has the arguments of such a training."""
    own = folder.config.get("model") in ARCHITECTURES and "model_type" not in folder.config
    return Match.SURE if own else Match.NO


FORMS = (
    Form("conformer_kernel", "ndrm", "Conformer-Kernel of its authors", recognises, compared=False),
)
