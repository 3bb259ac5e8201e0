"""The language of filters, and what filters mean."""

import json
import pickle
import random
from typing import Any

import pytest

from convrag import ConfigError
from convrag.api.filter_parser import FilterSyntaxError, parse_filter
from convrag.api.filters import And, Comparison, Not, Or, join_filters
from convrag.sdk.data.fields import make_fields
from convrag.sdk.search.filters import Kind, make_condition, matches
from filter_toys import write_filter

FIELDS: dict[str, set[Kind]] = {
    "product": {"text"},
    "year": {"number"},
    "date": {"date"},
    "draft": {"boolean"},
    "tags": {"text", "number"},
    "size": {"number", "text"},
}


def equals(name: str, value: Any) -> Comparison:
    return Comparison(name, "=", (value,))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("product=kettle", equals("product", "kettle")),
        ("  product  =  'tea pot' ", equals("product", "tea pot")),
        ('"Sold on"="a \\"b\\" \\\\"', equals("Sold on", 'a "b" \\')),
        ("year>=2023", Comparison("year", ">=", (2023,))),
        ("price<-2.5", Comparison("price", "<", (-2.5,))),
        ('year="2023"', equals("year", "2023")),
        ("date>2023-05-01", Comparison("date", ">", ("2023-05-01",))),
        ("folder=policies/hr", equals("folder", "policies/hr")),
        ("product!=kettle", Not(equals("product", "kettle"))),
        ("a IN (1, x,'y z')", Comparison("a", "in", (1, "x", "y z"))),
        ("a not in (1)", Not(Comparison("a", "in", (1,)))),
        ("a=1 or b=2 and c=3", Or((equals("a", 1), And((equals("b", 2), equals("c", 3)))))),
        ("(a=1 or b=2) and c=3", And((Or((equals("a", 1), equals("b", 2))), equals("c", 3)))),
        ("not a=1 and b=2", And((Not(equals("a", 1)), equals("b", 2)))),
        ("not (a=1 and b=2)", Not(And((equals("a", 1), equals("b", 2))))),
        ("NOT NOT a='and'", Not(Not(equals("a", "and")))),
        ("größe=9" + "9" * 20, equals("größe", "9" + "9" * 20)),
    ],
)
def test_a_filter_is_parsed(text: str, parsed: Any) -> None:
    assert parse_filter(text) == parsed


@pytest.mark.parametrize("seed", range(5))
def test_a_filter_that_is_written_is_read_as_the_same(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        parsed = parse_filter(write_filter(rng))
        assert parse_filter(str(parsed)) == parsed
        assert parse_filter(str(Not(parsed))) == Not(parsed)


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("", 0, "expected the name of a field"),
        ("product", 7, "expected =, !=,"),
        ("product=", 8, "expected a value"),
        ("product=red kettle", 12, "a text with blanks needs quotes"),
        ("product=in", 8, "this word needs quotes"),
        ("product=kettle and", 18, "expected the name of a field"),
        ("(product=kettle", 15, "expected `)`"),
        ("product=kettle)", 14, "expected `and`, `or` or the end"),
        ("product in kettle", 11, "expected `(` and values"),
        ("product in (a b)", 14, "expected `,` or `)`"),
        ("product in ()", 12, "expected a value"),
        ("product not kettle", 12, "expected `in`"),
        ("product='kettle", 8, "this quotation mark is not closed"),
        ("year!2023", 4, "unexpected sign"),
        ("(" * 60 + "a=1", 51, "more than 50 parentheses"),
        ("not " * 60 + "a=1", 204, "more than 50 parentheses"),
    ],
)
def test_a_text_that_is_no_filter_shows_the_place(text: str, place: int, problem: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(text)
    assert problem in caught.value.problem
    *_, shown, mark = str(caught.value).split("\n")
    assert shown == f"  {text}"
    if len(text) < 100:
        assert mark == f"  {' ' * place}^"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ConfigError, match="at most 4,000 are read"):
        parse_filter("a=" + "b" * 5000)


@pytest.mark.parametrize("seed", range(3))
def test_any_text_is_a_filter_or_a_clear_error(seed: int) -> None:
    rng = random.Random(seed)
    parts = [
        "a",
        "=",
        "(",
        ")",
        "not",
        "and",
        "or",
        "in",
        ",",
        '"',
        "'",
        "\\",
        " ",
        "1",
        "\n",
        "<=",
    ]
    for _ in range(500):
        text = "".join(rng.choices(parts, k=rng.randint(1, 12)))
        try:
            parsed = parse_filter(text)
        except FilterSyntaxError:
            continue
        assert parse_filter(str(parsed)) == parsed


ONE = make_fields(
    {
        "Product": "Kettle",
        "year": "2023",
        "date": "2023-05-15T08:00:00",
        "draft": False,
        "tags": ["Tea", 7],
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("product=kettle", True),
        ("PRODUCT=KETTLE", True),
        ("product=kettl", False),
        ("product!=kettle", False),
        ("product in (pot, kettle)", True),
        ("product not in (pot)", True),
        ("year=2023", True),
        ("year=2023.0", True),
        ('year="2023"', True),
        ("year>2023", False),
        ("year>=2023", True),
        ("year<2023.5 and year>-1", True),
        ("date=2023-05-15", True),
        ("date=2023-05", True),
        ("date=2023", True),
        ("date!=2023-06", True),
        ("date in (2022, 2023-05)", True),
        ("date>2023-05", False),
        ("date>=2023-05", True),
        ("date<=2023-05", True),
        ("date<2023-05", False),
        ("date>2022", True),
        ("date<2024", True),
        ("draft=false", True),
        ("not draft=true", True),
        ("tags=tea", True),
        ("tags=7", True),
        ("tags>=7", True),
        ("not tags=tea", False),
        ("tags!=coffee", True),
        # it has no size
        ("size=1", False),
        ("size!=1", True),
        ("size<1", False),
        ("size>=1", False),
        ("not size>=1", True),
        ("size=1 or product=kettle", True),
        ("size=1 and product=kettle", False),
        ("not (size=1 or product=pot)", True),
    ],
)
def test_what_filters_mean(text: str, expected: bool) -> None:
    assert matches(make_condition(parse_filter(text), FIELDS), ONE) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "prodct=kettle",
            "the field 'prodct' does not exist. Did you mean 'product'? "
            "Choose from: date, draft, product, size, tags, year.",
        ),
        (
            "product > 3",
            "the filter `product > 3` cannot be applied: the field 'product' has texts, "
            "and > compares numbers and dates",
        ),
        (
            "product = 3",
            "the filter `product = 3` cannot be applied: the field 'product' has texts; "
            "put the number in quotation marks to find it as a text",
        ),
        (
            "not (year = 1 or year in (2023, new))",
            "the filter `year in (2023, new)` cannot be applied: the field 'year' has numbers; "
            "compare it with one of these",
        ),
        (
            "date >= today",
            "the filter `date >= today` cannot be applied: the field 'date' has dates; "
            "compare it with one of these",
        ),
        (
            "date = 2023-13",
            "the filter `date = 2023-13` cannot be applied: the field 'date' has dates; "
            "compare it with one of these",
        ),
        (
            "draft = maybe",
            "the filter `draft = maybe` cannot be applied: the field 'draft' has true and false; "
            "compare it with one of these",
        ),
    ],
)
def test_a_filter_is_checked_against_the_fields(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_condition(parse_filter(text), FIELDS)
    assert str(caught.value) == message


def test_a_field_of_several_kinds_is_compared_with_each() -> None:
    sizes = [make_fields({"size": size}) for size in ("10", "XL", "2")]
    found = [matches(make_condition(parse_filter("size>=10"), FIELDS), each) for each in sizes]
    assert found == [True, False, False]
    found = [
        matches(make_condition(parse_filter("size in (xl, 2)"), FIELDS), each) for each in sizes
    ]
    assert found == [False, True, True]


def test_filters_are_joined() -> None:
    one, two, three = (equals("a", number) for number in (1, 2, 3))
    assert join_filters([]) is None
    assert join_filters([None, one, None]) is one
    assert join_filters([one, two, one]) == And((one, two))
    assert join_filters([one, And((one, two)), And((two, three))]) == And((one, two, three))


class TestFields:
    def test_values_become_fields(self) -> None:
        made = make_fields(
            {
                "Product Name": "  Tea\n pot ",
                "year": "2023",
                "version": "1.10",
                "code": "007",
                "price": 9.5,
                "draft": "true",
                "when": "2023-05-01 12:30:00+02:00",
                "tags": ["tea", 7, None, {"a": 1}, "", True],
                "none": None,
                "empty": " ",
                "nested": {"a": 1},
                "long": "x" * 201,
                "nan": float("nan"),
                "huge": 10**30,
                "???": 1,
                "n" * 61: 1,
            }
        )
        assert made == {
            "product_name": "Tea pot",
            "year": 2023,
            "version": "1.10",
            "code": "007",
            "price": 9.5,
            "draft": True,
            "when": "2023-05-01",
            "tags": ["tea", "7", "true"],
        }
        assert json.loads(json.dumps(made)) == made

    def test_fields_of_fields_are_the_same(self) -> None:
        assert make_fields(ONE) == ONE

    def test_of_very_many_the_first_are_kept(self) -> None:
        made = make_fields(
            {f"field {number}": [str(each) for each in range(200)] for number in range(99)}
        )
        assert len(made) == 50
        assert len(made["field_0"]) == 100  # type: ignore[arg-type]
