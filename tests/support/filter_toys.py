"""Passages with fields of all kinds, random filters, and the check that a retriever obeys them."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from convrag import Embedder, Passage, Query, Retriever
from convrag.api.filter_parser import parse_filter
from convrag.sdk.data.fields import make_fields
from convrag.sdk.search.filters import Kind, list_terms, make_condition, matches

_WORDS = ("kettle", "pot", "Teapot", "tea cosy", 'a "cup"', "it's", "größe", "a=b, c")
_DAYS = ("2022-12-31", "2023-01-01", "2023-02-28", "2023-05-15", "2023-12-31", "2024-02-29")
_NUMBERS = (-2, -0.5, 0, 0.25, 1, 7, 10, 2023, 1234567.5)
_COMPARED = {
    "product": (*_WORDS, "KETTLE", "TEA COSY", "nothing"),
    "stock": _NUMBERS,
    "price": _NUMBERS,
    "Sold On": (*_DAYS, "2023", "2023-02", "2023-05"),
    "tags": (*_WORDS, "7", "2023-01-01"),
    "live": ("true", "false"),
    "mixed": ("kettle", 7, 10, "2023-05-15"),
}
"""Field -> values that it is compared with."""


class Letters(Embedder):
    """Counts letters: every text is somewhat like every other one."""

    fingerprint = series = "letters"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        counts = [[1 + text.count(chr(97 + n)) for n in range(26)] for text in texts]
        rows = np.array(counts, dtype="f4")
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_passages(count: int = 60, seed: int = 71) -> list[Passage]:
    """Passages that the word "steam" finds, each with some of the fields, or with none."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        letters = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=40))  # no vectors are equal
        text = "steam " * rng.randint(1, 9) + letters
        metadata = {"fields": fields} if (fields := _make_fields(rng)) else {}
        made.append(Passage(f"p{number:03}", text, metadata=metadata))
    return made


def _make_fields(rng: random.Random) -> dict[str, Any]:
    values = {
        "product": rng.choice(_WORDS),
        "stock": rng.choice(_NUMBERS),
        "price": str(rng.choice(_NUMBERS)),
        "Sold On": rng.choice(_DAYS),
        "tags": [*rng.sample(_WORDS, rng.randint(0, 3)), rng.choice(("7", "2023-01-01"))],
        "live": rng.choice((True, "false")),
        "mixed": rng.choice(("Kettle", 7, "10", "2023-05-15")),
    }
    kept = rng.sample(sorted(values), rng.randint(0, len(values)))
    return make_fields({name: values[name] for name in kept})


def write_filter(rng: random.Random, depth: int = 3) -> str:
    """Write a random filter that is valid for `make_passages`."""
    kind = rng.random()
    if depth and kind < 0.2:
        return f"not ({write_filter(rng, depth - 1)})"
    if depth and kind < 0.6:
        word = rng.choice(("and", "or"))
        return f"({write_filter(rng, depth - 1)}) {word} ({write_filter(rng, depth - 1)})"
    name = rng.choice(sorted(_COMPARED))
    values = _COMPARED[name]
    field = f'"{name}"' if " " in name else name
    if rng.random() < 0.3:
        listed = ", ".join(_quote(value) for value in rng.choices(values, k=rng.randint(1, 3)))
        return f"{field} {rng.choice(('in', 'not in'))} ({listed})"
    signs: tuple[str, ...] = ("=", "!=")
    if name in ("stock", "price", "Sold On"):
        signs = ("=", "!=", "<", "<=", ">", ">=")
    return f"{field} {rng.choice(signs)} {_quote(rng.choice(values))}"


def _quote(value: Any) -> str:
    if not isinstance(value, str) or value[:1].isdigit():
        return str(value)
    escaped = value.replace('"', '\\"')
    return f'"{escaped}"'


def find_matching(passages: Sequence[Passage], text: str) -> list[str]:
    """The ids of the passages that match a filter, by the reference of what filters mean."""
    kinds: dict[str, set[Kind]] = {}
    for passage in passages:
        for name, scalar in list_terms(passage):
            kinds.setdefault(name, set()).add(scalar.kind)
    condition = make_condition(parse_filter(text), kinds)
    return [each.id for each in passages if matches(condition, each.fields)]


def check_filters(retriever: Retriever, passages: Sequence[Passage], count: int, seed: int) -> None:
    """Check that a retriever finds what random filters match, in the order that it has without.

    The retriever must find all passages for "steam".
    """
    query = Query("steam")
    ranked = [hit.passage.id for hit in retriever.retrieve([query], len(passages))]
    assert sorted(ranked) == sorted(each.id for each in passages)
    rng = random.Random(seed)
    sizes = set()
    for _ in range(count):
        text = write_filter(rng)
        condition = parse_filter(text)
        retriever.check_filter(condition, "default")
        matching = set(find_matching(passages, text))
        expected = [name for name in ranked if name in matching]
        filtered = Query("steam", filter=condition)
        hits = retriever.retrieve([filtered], len(passages))
        assert [hit.passage.id for hit in hits] == expected, text
        few = [hit.passage.id for hit in retriever.retrieve([filtered], 3)]
        assert few == expected[:3], text
        sizes.add(len(expected))
    assert len(sizes) > count // 4, "these filters tell nothing"
