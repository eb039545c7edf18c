from ranklet.runtime.syntax.signs import unread_signs


def test_signs_of_plain_texts_are_told_from_other_colons() -> None:
    text = "Title:flour +rye OR spelt at 10:30 std::cout http://x note:x C++ a+b"
    assert unread_signs(text, {"title": ""}) == ("Title:", "+", "OR")
    assert unread_signs("SPELT OR RYE", {}) == ()
    assert unread_signs("either or", {}) == ()
