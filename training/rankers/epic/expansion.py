"""Initialise EPIC's Θ2 with a masked language model's prediction matrix (MacAvaney et al., §3).

A sentence encoder such as MiniLM has no prediction matrix, and MobileBERT's has another size than
its vectors. Then word embeddings replace it, because BERT's prediction matrix is tied to them. The
linear map that best recovers a token's embedding from its contextual vector ranks worse, before and
after training (docs/maintainers/log).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.training.pretrained.backbone import Backbone

# Where the expansion comes from, for people.
PREDICTION, EMBEDDINGS = "the prediction matrix", "word embeddings, without a prediction matrix"


def expansion_start(backbone: Backbone) -> tuple[NDArray[np.float32], str]:
    """Return the first Θ2, (vocabulary, hidden) float32, and where it comes from.

    Raises:
        InputError: the encoder's embeddings have another size than its vectors, and it has no
            projection between them.
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
            "dimensions, so the expansion cannot be initialised; use another backbone"
        )
    matrix: NDArray[np.float32] = project.weight.detach().numpy()  # (hidden, embedding)
    return np.asarray(embeddings @ matrix.T, np.float32), EMBEDDINGS
