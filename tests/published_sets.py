"""Files of published data sets in small, and ways to break them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConvragError
from convrag.api.stages import Dataset
from convrag.testing import DatasetContract

_MARKS = {"@nan@": "NaN", "@digits@": "7" * 5000, "@huge@": "1e400", "@half@": '"\\ud83d"'}
_VALUES = [None, True, -1, 0, 3.5, "", " ", "x", [], {}, [None], {"a": 1}, 10**12, *_MARKS]
_SUFFIXES = (".json", ".tsv", ".qrel", ".trec", ".txt")


class PublishedContract(DatasetContract):
    """The contract of a set whose files a fixture writes into a folder."""

    without_results = ("pyarrow",)
    fixture = "copy"
    path: Path

    @pytest.fixture(autouse=True)
    def _files(self, request: pytest.FixtureRequest) -> None:
        self.path = request.getfixturevalue(self.fixture)


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def read_all(dataset: Dataset) -> None:
    """Read all that a data set has. Raises ConvragError, and AssertionError where an error is without its file."""
    problems = list(dataset.check())
    assert all(any(suffix in each for suffix in _SUFFIXES) for each in problems), problems
    dataset.content_hash()
    dataset.note()
    conversations = list(dataset.conversations())
    ids = [turn.id for each in conversations for turn in each.turns]
    assert len(ids) == len(set(ids))
    dataset.qrels()
    dataset.rewrites()
    for domain in dataset.domains():
        passages = [passage.id for passage in dataset.corpus(domain)]
        assert len(passages) == len(set(passages))
        dataset.corpus_fingerprint(domain)


def break_files(make: Callable[[], Dataset], *paths: Path, times: int = 60) -> int:
    """Break each of the files in many ways and read the data set; how often that was noticed.

    Fails for any error that is none of ours.
    """
    noticed = 0
    for path in paths:
        whole = path.read_text(encoding="utf-8")
        for text in _break_text(whole, times):
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            try:
                read_all(make())
            except ConvragError:
                noticed += 1
        path.write_text(whole, encoding="utf-8")
        read_all(make())
    return noticed


def _break_text(whole: str, times: int) -> Iterator[str]:
    dice = random.Random(whole)
    parsed = _parse(whole)
    for number in range(times):
        if parsed is not None and number % 3:
            yield _break_values(copy.deepcopy(parsed), dice, lines=not whole.startswith(("[", "{\n")))
        else:
            start = dice.randrange(len(whole) + 1)
            yield dice.choice([whole[:start], whole[:start] + whole[start + dice.randrange(1, 9) :], whole + "]"])


def _parse(whole: str) -> Any:
    try:
        return json.loads(whole)
    except ValueError:
        try:
            return [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            return None


def _break_values(root: Any, dice: random.Random, *, lines: bool) -> str:
    """Replace, remove or double one value."""
    places = list(_list_places(root))
    holder, key = dice.choice(places)
    way = dice.randrange(4)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[key] = dice.choice(_VALUES)
    texts = [json.dumps(each) for each in root] if lines else [json.dumps(root, indent=1)]
    text = "\n".join(texts)
    for mark, raw in _MARKS.items():
        text = text.replace(json.dumps(mark), raw)
    return text


def _list_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the holder and the key of each value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in list(pairs):
        yield value, key
        yield from _list_places(each)
