import pytest
from hypothesis import given, settings, strategies as st

from convrag.api.passages import Nugget
from convrag_ginger.clusters import merge_duplicates
from ginger_toys import answer, ginger


def merge(*texts: str, threshold: float = 0.8) -> list[tuple[str, tuple[int, ...]]]:
    nuggets = [Nugget(text, f"p{n}", 0, len(text)) for n, text in enumerate(texts)]
    return [(each.text, each.members) for each in merge_duplicates(nuggets, threshold)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A kettle whistles.", "The kettle  WHISTLED!"),
        (
            "Steam makes kettles whistle very loudly.",
            "Steam makes a kettle whistle very loudly indeed.",
        ),
        ("in 1890", "It was patented in 1890."),
    ],
)
def test_near_duplicates_are_merged_into_the_longer(one: str, other: str) -> None:
    longer = max(one, other, key=lambda text: len(text.split()))
    assert merge(one, "Tea is green.", other)[0][1] == (0, 2)
    assert merge(other, one)[0][0] in (" ".join(longer.split()), " ".join(other.split()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The kettle was patented in 1890.", "The kettle was patented in 1891."),
        ("The kettle is not hot.", "The kettle is hot."),
        ("The kettle isn't hot.", "The kettle is hot."),
        ("Ann beats Bob.", "Bob beats Ann."),
        ("John was born in Paris in spring.", "Joan was born in Paris in spring."),
        ("in 18", "It was patented in 1890."),
        ("Kettles whistle.", "Old copper kettles of great kitchens whistle."),
    ],
)
def test_different_facts_are_not(one: str, other: str) -> None:
    assert len(merge(one, other)) == 2


@settings(max_examples=50)
@given(st.lists(st.text(alphabet="ab 1.", max_size=8), max_size=12))
def test_merging_keeps_every_nugget_once(texts: list[str]) -> None:
    found = merge(*texts)
    assert sorted(index for _, members in found for index in members) == list(range(len(texts)))
    assert [members for _, members in found] == sorted(members for _, members in found)


def test_merged_nuggets_are_cited_with_all_their_passages() -> None:
    found = answer(ginger(), "Ann drinks tea.", "Bob roasts coffee.", "ANN  drinks tea.")
    assert found.text == "Ann drinks tea. [1] Bob roasts coffee. [2]"
    found = answer(
        ginger(), "Ann drinks tea.", "Bob roasts coffee.", "So Ann drinks tea.", "Ann drinks tea."
    )
    assert found.text == "So Ann drinks tea. [3] Bob roasts coffee. [2]"
    assert (found.trace["merged"], found.trace["clusters"][0]["nuggets"]) == (2, [0, 2, 3])
