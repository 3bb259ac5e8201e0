import pytest

from convrag.sdk.citations import find_citations, find_cited_statements


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
def test_marks_are_found_at_their_places(text: str, marks: list[tuple[str, tuple[int, ...]]]) -> None:
    assert [(text[mark.start : mark.end], mark.numbers) for mark in find_citations(text)] == marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Dogs bark.", []),
        ("[1]", []),
        ("Dogs bark. [1] Cats do not [2].", [("Dogs bark.", (1,)), ("Cats do not", (2,))]),
        ("Dogs bark [1]. Cats do not. [2]", [("Dogs bark", (1,)), ("Cats do not.", (2,))]),
        ("Dogs bark. [1][3, 1] Cats [2] do not [3].", [("Dogs bark.", (1, 3)), ("Cats", (2,)), ("do not", (3,))]),
        ("It is late. Dogs bark. [1]", [("Dogs bark.", (1,))]),
        ("- Dogs [1]\n- Cats `a[0]` [2]", [("- Dogs", (1,)), ("- Cats `a[0]`", (2,))]),
        ("1990 [1] 🙂 [2]", [("1990", (1, 2))]),
    ],
)
def test_a_citation_belongs_to_the_sentence_before_it(text: str, expected: list) -> None:
    assert [(text[start:end], numbers) for start, end, numbers in find_cited_statements(text)] == expected
