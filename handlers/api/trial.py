"""Try a bundle before it serves."""

from ranklet.runtime.bundle import Bundle

TRIAL_QUERY = "a first query"  # if the bundle has no text to take one from
TRIAL_CHARACTERS = 1000  # of a document's text that serve as the query
TRIAL_DEPTH = 2  # documents per stage: two open the same files as a hundred


def try_out(bundle: Bundle) -> None:
    """Rank once, few documents deep, so that every file is open before the first caller waits.

    Raises:
        RankletError: the bundle cannot answer.
    """
    manifest = bundle.manifest
    if len(bundle):
        text = bundle.sample_texts(1)[0].strip() or TRIAL_QUERY
        pipeline = manifest.pipelines.get(manifest.default_pipeline)
        shallow = pipeline.shallow(TRIAL_DEPTH) if pipeline else None
        bundle.rank(text[:TRIAL_CHARACTERS], k=1, pipeline=shallow)
    elif manifest.default_pipeline or len(manifest.rankers) == 1:
        bundle.rank(TRIAL_QUERY, [TRIAL_QUERY], k=1)
