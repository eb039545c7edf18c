"""What EPIC's expansion Θ2 begins with: the prediction matrix of a masked language model.

So the paper has it (003, §3). A sentence encoder such as MiniLM has none, and MobileBERT's is not
of its vectors' size; word embeddings stand in for it, as they do in a BERT, whose prediction matrix
is tied to them. (Tried in their place: the linear map that finds a token's embedding in its
contextual vector best. It ranks worse, before training and after; docs/LOG.md.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.training.pretrained.backbone import Backbone

# Where it is from, for people.
PREDICTION, EMBEDDINGS = "prediction matrix", "word embeddings, for want of a prediction matrix"


def expansion_start(backbone: Backbone) -> tuple[NDArray[np.float32], str]:
    """Return what Θ2 begins with, (vocabulary, hidden) float32, and where it is from.

    Raises:
        InputError: the encoder's embeddings do not have the size of its vectors, and nothing brings
            them to it.
    """
    hidden = backbone.config.hidden_size
    if backbone.prediction is not None and backbone.prediction.shape[1] == hidden:
        return np.array(backbone.prediction, np.float32), PREDICTION
    embeddings = np.array(backbone.word_vectors(), np.float32)
    if embeddings.shape[1] == hidden:
        return embeddings, EMBEDDINGS
    project: Any = getattr(backbone.model, "embeddings_project", None)  # ELECTRA's
    if project is None:
        raise InputError(
            f"{backbone.source!r} has embeddings of {embeddings.shape[1]} and vectors of {hidden} "
            "dimensions, so expansion has nothing to begin with; take another backbone"
        )
    matrix: NDArray[np.float32] = project.weight.detach().numpy()  # (hidden, embedding)
    return np.asarray(embeddings @ matrix.T, np.float32), EMBEDDINGS
