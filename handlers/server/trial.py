"""The query that a handler asks itself before anybody else asks."""

from ranklet.runtime.bundle import Bundle

TRIAL = "a first query, so that all is open before anybody waits"
LONGEST = 1000  # characters of a document that are asked for
DEPTH = 2  # documents of each list: what is opened late opens for two as for a hundred


def try_out(bundle: Bundle) -> None:
    """Rank once, few documents deep, so that what is opened late is open, and damage shows.

    Raises:
        RankletError: the bundle cannot answer.
    """
    held = bundle.manifest
    if len(bundle):
        text = bundle.sample_texts(1)[0].strip() or TRIAL
        recipe = held.pipelines.get(held.default_pipeline)
        bundle.rank(text[:LONGEST], k=1, pipeline=recipe and recipe.shallow(DEPTH))
    elif held.default_pipeline or len(held.rankers) == 1:
        bundle.rank(TRIAL, [TRIAL], k=1)
