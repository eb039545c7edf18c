"""Recognise what OpenNIR has saved of its EPIC."""

from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.forms import Form, Match

RANKER = "ranker.json"  # OpenNIR's settings of a ranker, whose name has the key ""


def recognises(folder: ModelFolder) -> Match:
    """Return whether a folder is an unpacked checkpoint of OpenNIR with an EPIC."""
    own = (folder.path / RANKER).is_file() and folder.json(RANKER).get("") == "epic"
    return Match.SURE if own else Match.NO


FORMS = (Form("epic", "epic", "EPIC of OpenNIR", recognises, compared=False),)
