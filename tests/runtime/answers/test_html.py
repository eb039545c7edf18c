from ranklet.runtime.answers.html import Markup, element


def test_elements_escape_what_is_no_markup() -> None:
    assert (
        element("p", "<b>", Markup("<i>"), title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<i></p>'
    )
