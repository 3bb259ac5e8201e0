"""Spans of one document, divided among its passages."""

from hypothesis import given, strategies as st

from convrag_small_to_big.parts import Part, Span, divide_spans


def divide(*parts: tuple[str, tuple[int, int], tuple[int, int]]) -> list[tuple[str, int, int]]:
    given = [Part(id_, Span(*own), Span(*shown)) for id_, own, shown in parts]
    return [(part.id, *part.shown) for part in divide_spans(given)]


def test_spans_apart_stay_as_they_are_in_the_order_of_the_document() -> None:
    later = ("b", (30, 40), (25, 45))
    assert divide(later, ("a", (5, 10), (0, 20))) == [("a", 0, 20), ("b", 25, 45)]
    assert divide(later, ("a", (5, 10), (0, 25))) == [("a", 0, 25), ("b", 25, 45)]


def test_text_between_two_passages_is_the_firsts_as_far_as_it_wants_it() -> None:
    assert divide(("a", (5, 10), (0, 15)), ("b", (20, 30), (12, 40))) == [
        ("a", 0, 15), ("b", 15, 40),
    ]  # fmt: skip
    assert divide(("a", (5, 10), (0, 35)), ("b", (20, 30), (12, 32))) == [
        ("a", 0, 20), ("b", 20, 35),
    ]  # fmt: skip


def test_overlapping_passages_are_shown_once() -> None:
    assert divide(("a", (0, 12), (0, 20)), ("b", (10, 20), (0, 30))) == [
        ("a", 0, 12), ("b", 12, 30),
    ]  # fmt: skip


def test_a_passage_within_another_one_is_dropped_and_its_text_stays() -> None:
    assert divide(("a", (10, 20), (10, 20)), ("b", (12, 18), (5, 30))) == [("a", 5, 30)]
    assert divide(("a", (10, 20), (10, 20)), ("b", (10, 20), (10, 20))) == [("a", 10, 20)]


def test_a_wider_span_of_a_later_passage_begins_before_that_of_an_earlier_one() -> None:
    parts = [("a", (10, 12), (10, 14)), ("b", (16, 18), (0, 30))]
    assert divide(*parts) == [("a", 0, 14), ("b", 14, 30)]


PARTS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 8), st.integers(0, 9), st.integers(0, 9)),
    max_size=6,
)


@given(PARTS)
def test_all_that_is_wanted_is_shown_once_and_each_passage_is_in_its_part(
    rows: list[tuple[int, int, int, int]],
) -> None:
    parts = []
    wanted: set[int] = set()
    for number, (start, length, before, after) in enumerate(rows):
        own = Span(start, start + length)
        shown = Span(max(0, start - before), own.end + after)
        parts.append(Part(str(number), own, shown))
        wanted |= set(range(*shown))
    divided = divide_spans(parts)
    characters = [place for part in divided for place in range(*part.shown)]
    assert characters == sorted(wanted)
    assert len({part.id for part in divided}) == len(divided)
    owner = {place: part.id for part in divided for place in range(*part.shown)}
    claimed: set[int] = set()
    for part in divided:
        first = max(part.own.start, max(claimed, default=-1) + 1)
        assert all(owner[place] == part.id for place in range(first, part.own.end))
        claimed |= set(range(*part.own))
