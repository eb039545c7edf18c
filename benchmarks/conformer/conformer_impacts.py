"""What a Conformer-Kernel's impacts lose: how many terms a document keeps, which, in how many bits.

Full scoring of every document by the network is the reference. NDRM1's impacts rank better than its
network. So the network is also measured with its scores below the floors counted as 0, which is
what impacts do with every term, and impacts with all candidates kept. The floors and the candidates
of a bundle are choices. Held-out queries of train make them, and dev queries report them, in the
end over all documents.
"""

from benchmarks.built.conformers import Conformers
from benchmarks.built.trained import HELD_OUT
from benchmarks.conformer.conformer_quality import BASE, DEPTH, MEASURES, bundle_of, quality
from benchmarks.conformer.impact_study import FLOORS, Line, Model, drawn, own_terms
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.pipeline import Pipeline, Retrieve
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.systems import Evaluation, evaluate

PACKAGES = ("onnxruntime",)
COLLECTION, FORMS = "medquad", ("ndrm3", "ndrm1")
QUERIES = 300
DOCUMENTS = 4000  # all that are relevant to these among them
KEPT = (100, 200, 500)  # impacts a document
CANDIDATES = (400, 1500)  # terms a document that impacts are computed for
SERVED = (ConformerKernelSettings.floor, 0.25)  # what a bundle has, and what it had before
AS_MADE, RANKED_BY = "as it is made", "nDCG@10"
STORED = ("float32", "float16")


def run(place: Place) -> str:
    """Score everything by the network, then by impacts of several kinds."""
    trained = Conformers(place, COLLECTION)
    bundle = BundleFiles(bundle_of(trained, FORMS))
    collection = place.collection(COLLECTION)
    choose, report = (read_split(collection, each, limit=QUERIES) for each in (HELD_OUT, "dev"))
    parts = [section(bundle, form, choose, report) for form in FORMS]
    return "\n\n".join([_intro(), *parts, over_all(trained)])


def over_all(trained: Conformers, limit: int | None = None) -> str:
    """Return what floors bring over the whole collection, on dev queries.

    Args:
        trained: the networks.
        limit: dev queries, at most; None for all.
    """
    queries = read_split(trained.place.collection(trained.collection), "dev", limit=limit)
    found: list[Evaluation] = []
    for floor in SERVED:
        bundle = runtime.load(bundle_of(trained, FORMS, floor))
        recipes = {f"{form.upper()}, floor at {floor:.0%}": _alone(form) for form in FORMS}
        if not found:
            recipes = {BASE: _alone("bm25"), **recipes}
        found += evaluate(bundle, queries, recipes, measures=tuple(MEASURES), depth=DEPTH)
    base, *others = found
    usual = {form: each.values[RANKED_BY] for form, each in zip(FORMS, others, strict=False)}
    gaps = [
        f"{form.upper()} {shown(difference(each.values[RANKED_BY], usual[form]))}"
        for form, each in zip(FORMS, others[len(FORMS) :], strict=True)
    ]
    return f"""\
### All {len(bundle):,} documents, {len(queries):,} dev queries

{quality([base, *others])}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction). \
{RANKED_BY} with the floor at {SERVED[1]:.0%} less that at {SERVED[0]:.0%}: {"; ".join(gaps)}."""


def _alone(ranker: str) -> Pipeline:
    return Pipeline((Retrieve(ranker, DEPTH),))


def section(
    bundle: BundleFiles,
    form: str,
    choose: list[JudgedQuery],
    report: list[JudgedQuery],
    most: int = DOCUMENTS,
) -> str:
    """Return the tables of a form.

    Args:
        bundle: with the form, and the collection that the queries are of.
        form: ndrm1 or ndrm3.
        choose: judged queries that choose.
        report: judged queries that have no part in a choice.
        most: documents; those that are relevant to a query are always among them.
    """
    documents = bundle.documents
    if documents is None:
        raise TypeError(f"{bundle.path} is not indexed")
    model = Model(bundle, form, drawn(documents, [*choose, *report], most))
    usual, study, reported = model.usual, model.study(choose), model.study(report)
    lines = [study.measured("the network, every document", study.reference)]
    again = [reported.measured("the network, every document", reported.reference)]
    for share in FLOORS[1:]:
        cut = study.cut(model.floors[share])
        lines.append(study.measured(f"the network, below {share:.0%} as 0", cut))
    scores = model.candidates(usual.floor, usual.candidates)
    made = model.index(scores, usual.floor, usual.terms)
    lines.append(study.line(AS_MADE, made))
    again.append(reported.line(AS_MADE, made))
    for share in FLOORS:
        if share != usual.floor:
            own = model.candidates(share, usual.candidates)
            index = model.index(own, share, usual.terms)
            lines.append(study.line(f"floor at {share:.0%}", index))
            again.append(reported.line(f"floor at {share:.0%}", index))
    for count in CANDIDATES:
        index = model.index(model.candidates(usual.floor, count), usual.floor, usual.terms)
        lines.append(study.line(f"{count:,} candidates", index))
    every = len(model.matching.rows)
    lines.append(
        study.line("its own terms only", model.index(own_terms(scores), usual.floor, every))
    )
    counts = {**{f"{kept:,} terms": kept for kept in KEPT}, "all candidates": every}
    for label, kept in counts.items():
        index = model.index(scores, usual.floor, kept)
        lines.append(study.line(f"{label} kept", index))
    for stored in STORED:
        index = model.index(scores, usual.floor, usual.terms, stored)
        lines.append(study.line(stored, index))
    return f"""\
### {form.upper()}: {len(model.numbers):,} documents

{len(choose):,} held-out queries of train:

{_table(lines)}

{len(report):,} dev queries:

{_table(again)}

A bundle is made with {usual.candidates} candidates, floors at {usual.floor:.0%}, {usual.terms} \
terms kept, {usual.impacts}."""


def _table(lines: list[Line]) -> str:
    """Return rows with their differences to *as it is made*."""
    (made,) = (line.gains for line in lines if line.label == AS_MADE)
    head = ["impacts", "nDCG@10", f"− {AS_MADE} (95 %)", "R@100", "network's 10 best found", "MB"]
    rows = [
        [
            line.label,
            f"{line.gains.mean():.4f}",
            "" if line.label == AS_MADE else shown(difference(line.gains, made)),
            f"{line.recall:.4f}",
            f"{line.shared:.1%}",
            f"{line.size / 1e6:.1f}" if line.size else "",
        ]
        for line in lines
    ]
    return table(head, rows)


def _intro() -> str:
    return f"""\
{COLLECTION} without titles. Searched are all documents that are relevant to a query, and others \
at random. A term's scores are counted from its floor, a quantile of what the network gives it for \
other documents; what is below is left out. Candidates are a document's own terms and those that \
the network is likely to give most. Each row of impacts changes one thing of *{AS_MADE}*. *Below \
25% as 0* cuts the network's own scores at the same floors, for every term and every document. \
Intervals are the paired t-test's, without a correction."""
