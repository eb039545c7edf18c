"""Which pipelines a bundle has, and which of them is its default."""

from ranklet.corpus.building.default_pipelines import DEPTH, RERANKED, stages, standard_pipelines
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.pipelines.pipeline import Keep, Pipeline, Rescore, Retrieve


def test_a_network_behind_an_index_reranks_few_and_never_mixes_its_scores_with_impacts() -> None:
    first = RankerEntry("bm25", {})
    deep = RankerEntry("conformer_kernel", {"architecture": "ndrm3", "scorer": "onnx"})
    other = RankerEntry("conformer_kernel", {"architecture": "ndrm1", "scorer": "onnx"})
    cheap = RankerEntry(
        "conformer_kernel", {"architecture": "ndrm2", "scorer": "onnx"}
    )  # no network
    entries = {"deep": deep, "bm25": first, "other": other, "cheap": cheap}
    # What a sum of all adds up: no list of impacts among the network's scores.
    lists = Retrieve("bm25", RERANKED), Rescore("deep")
    assert stages(["deep", "bm25"], entries) == lists
    assert stages(["deep"], entries) == (Retrieve("deep", RERANKED), Rescore("deep"))
    assert stages(["cheap"], entries) == (Retrieve("cheap", DEPTH),)
    both = stages(["deep", "other"], entries)
    assert both[:2] == (Retrieve("deep", RERANKED), Retrieve("other", RERANKED))
    assert both[2:] == (Rescore("deep"), Rescore("other"))
    pipelines, default = standard_pipelines({"deep": deep, "bm25": first})
    assert default == "deep"
    assert pipelines["bm25"] == Pipeline((Retrieve("bm25", DEPTH),))
    candidates = Retrieve("bm25", DEPTH), Keep(RERANKED)
    assert pipelines["deep"] == Pipeline((*candidates, Rescore("deep")))
    assert not {"sum", "rrf"} & set(pipelines)
    alone, default = standard_pipelines({"deep": deep})
    assert default == "deep"
    assert alone == {"deep": Pipeline((Retrieve("deep", RERANKED), Rescore("deep")))}


def test_it_reranks_few() -> None:
    entry, impacts = RankerEntry("tk", {}), RankerEntry("conformer_kernel", {})
    both = stages(["impacts", "tk"], {"impacts": impacts, "tk": entry})
    assert both == (Retrieve("impacts", RERANKED), Rescore("tk"))
    assert standard_pipelines({"tk": entry}) == ({}, "")
