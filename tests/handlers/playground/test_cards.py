"""A hit shows its score, or how likely it answers the query where that was asked for."""

from ranklet.handlers.playground.cards import cards

HIT = {"id": "a", "score": 1.5, "title": "Bread", "text": "Knead.", "snippet": "Knead."}


def test_a_hit_shows_its_score_or_its_relevance() -> None:
    assert '<span class="score">1.5000</span>' in cards([HIT], {})
    likely = cards([HIT | {"relevance": 0.874}], {})
    assert '<span class="score">87%</span>' in likely
    assert '<rect width="87%"' in likely


def test_a_passage_is_named_only_after_the_first() -> None:
    assert "passage" not in cards([HIT | {"passage": 1}], {})
    assert "a · passage 2" in cards([HIT | {"passage": 2}], {})


def test_only_addresses_of_the_web_are_links() -> None:
    for value in ("https://example.org/x", "http://example.org"):
        assert "<a " in cards([HIT | {"metadata": {"more": value}}], {"more": "string"}), value
    for value in (
        "javascript:alert(1)",
        "https://",
        "https://a b",
        "data:text/html,x",
        "https://[",
    ):
        assert "<a " not in cards([HIT | {"metadata": {"more": value}}], {"more": "string"}), value
