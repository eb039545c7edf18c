"""The margins of a teacher's scores, which students learn from."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQueries
from ranklet.training.learning.length import planned
from ranklet.training.learning.options import TextPairOptions
from ranklet.training.sampling.encoder_texts import EncoderTexts
from ranklet.training.sampling.negatives import relevant_numbers
from ranklet.training.sampling.teacher import teacher_scores
from ranklet.training.sampling.text_pairs import Batch


class TeacherMargins:
    """The teacher's score margins of all pairs that the epochs draw."""

    def __init__(
        self,
        teacher: Checkpoint,
        collection: Collection,
        queries: JudgedQueries,
        texts: EncoderTexts,
        options: TextPairOptions,
    ) -> None:
        epochs = math.ceil(planned(options, len(texts.pairs.batches(0))).epochs)
        drawn = [
            pair
            for epoch in range(epochs)
            for batch in texts.pairs.batches(epoch)
            for pair in self._pairs(batch)
        ]
        pairs = sorted(set(drawn))
        usable, _ = relevant_numbers(texts.pairs.ids, queries)
        documents = [
            ranked_text(each.title, each.text, options.titles) for each in collection.documents()
        ]
        scores = teacher_scores(
            teacher,
            [(usable[query].text, documents[document]) for query, document in pairs],
            options.folder,
            options.device,
        )
        self._scores = dict(zip(pairs, scores.tolist(), strict=True))

    @staticmethod
    def _pairs(batch: Batch) -> list[tuple[int, int]]:
        """Return each query with its relevant document, then each with its other document."""
        queries: Sequence[int] = batch.queries.tolist()
        return list(zip([*queries, *queries], batch.documents.tolist(), strict=True))

    def of(self, batch: Batch) -> NDArray[np.float32]:
        """Return the margin of each query of a batch, (queries,) float32."""
        scores = np.array([self._scores[pair] for pair in self._pairs(batch)], np.float32)
        own, other = scores.reshape(2, -1)
        return np.asarray(own - other)
