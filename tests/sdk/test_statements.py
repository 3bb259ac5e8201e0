import pytest

from convrag.sdk.citations import find_cited_statements


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
