"""The model itself, to hold impacts and networks against: PyTorch's scores of a collection."""

from typing import Any

import numpy as np
import torch

from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.conformer_kernel.pairs import TermReader

FORMS = ("ndrm1", "ndrm2", "ndrm3")
QUERIES = ("quiet stream", "an old old fiddle", "red apple here", "gnorp winter")


def opened(bundle: BundleFiles | Bundle, name: str) -> ConformerKernel:
    found = open_ranker((bundle if isinstance(bundle, BundleFiles) else bundle.files), name)
    assert isinstance(found, ConformerKernel)
    return found


def by_pytorch(checkpoint: Checkpoint, bundle: BundleFiles, text: str) -> Any:
    """The model's score of every document, on the statistics of the collection; (documents,)."""
    model = conformer_kernel.load(checkpoint)
    found = analyse_again(bundle)
    rows = term_rows(checkpoint.tokens, found.analyzer.vocabulary, checkpoint.settings.field)
    reader = TermReader(found, checkpoint.settings, rows)
    documents = np.arange(len(found.documents))[None]
    with torch.no_grad():
        return model(reader.pairs([reader.query_terms(text)], documents)).numpy()


def analyse_again(bundle: BundleFiles) -> AnalysedCollection:
    documents = bundle.documents
    assert documents is not None
    forwards = {"words": documents.forward("words")}
    return AnalysedCollection(documents, bundle.analyzer, forwards, ("words",))
