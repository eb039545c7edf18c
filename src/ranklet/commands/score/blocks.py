"""Score blocks of pairs by a teacher on the nodes of a cluster."""

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.distributed.cluster import Cluster, Task
from ranklet.training.checkpoint import RANKLET
from ranklet.training.distilling.teacher import Pairs, ScoreEach, read_teacher


def open_scorer(path: Path, settings: Mapping[str, Any]) -> Callable[[bytes], bytes]:
    """Return what makes scores, as the bytes of float32 numbers, of pairs in JSON.

    Args:
        path: a zipped bundle or checkpoint.
        settings: ``ranker`` and ``device``, as `read_teacher` has them.
    """
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(path) as archive:
        if RANKLET in archive.namelist():  # a checkpoint is read from a folder
            archive.extractall(scratch)
            path = Path(scratch)
        score = read_teacher(path, settings["ranker"], settings["device"]).open()

    def block(pairs: bytes) -> bytes:
        return score([(query, document) for query, document in json.loads(pairs)]).tobytes()

    return block


def scorer_on(cluster: Cluster, teacher: Path, ranker: str | None, device: str) -> ScoreEach:
    """Return what scores blocks of pairs on a cluster.

    Args:
        cluster: where the scores are computed.
        teacher: a bundle or a checkpoint.
        ranker: the bundle's ranker; None for its only cross-encoder.
        device: where the teacher runs.
    """
    task = Task(open_scorer, {"ranker": ranker, "device": device}, teacher)

    def each(blocks: Iterable[Pairs]) -> Iterator[NDArray[np.float32]]:
        for _, made in cluster.each(task, (json.dumps(block).encode() for block in blocks)):
            yield np.frombuffer(made, np.float32)

    return each
