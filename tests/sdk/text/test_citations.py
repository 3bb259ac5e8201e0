import pytest

from convrag.sdk.text.citations import find_citations


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("", []),
        ("No mark.", []),
        ("Yes [1].", [("[1]", (1,))]),
        ("Yes [1][2], no [ 3 , 4;5 ].", [("[1]", (1,)), ("[2]", (2,)), ("[ 3 , 4;5 ]", (3, 4, 5))]),
        ("`a[0]` and ```\nb[1]\n``` but [2]", [("[2]", (2,))]),
        ("Ein M\u00f6nch \U0001f319 [7]", [("[7]", (7,))]),
        ("[a] [1a] [] [" + "9" * 20 + "]", [("[" + "9" * 20 + "]", (-1,))]),
    ],
)
def test_marks_are_found_at_their_places(
    text: str, marks: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert [(text[mark.start : mark.end], mark.numbers) for mark in find_citations(text)] == marks
