"""What a fingerprint covers, and what cannot be identified."""

from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toys
from convrag.api.completions import Message
from convrag.api.conversations import Question
from convrag.api.errors import UnidentifiedValue
from convrag.api.passages import Passage
from convrag.store import fingerprint
from convrag.store.fingerprint import collect_libraries, compute_fingerprint, digest, find_version
from convrag.store.remember import compute_call_key


class Unknown:
    """Its `str` says where in memory it is."""


class Listed:
    """It has `tolist`, and is no array."""

    tolist = list


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Settings:
    memory: int = 0
    weight: float = field(default=1.0, compare=False)


class Based(toys.EchoLLM):
    requires = {"numpy": "acme"}  # noqa: RUF012
    libraries = ("pluggy",)


class Derived(Based):
    libraries = ("hydra-core",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Settings(memory=1), Settings(memory=2)),
        (Settings(weight=1.0), Settings(weight=2.0)),
        ({"a", "b"}, {"a", "c"}),
        (frozenset({1}), frozenset({2})),
        (Colour.RED, Colour.BLUE),
        (b"a", b"b"),
        (Path("a"), Path("b")),
        (date(2026, 1, 1), date(2026, 1, 2)),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1, 2], dtype=np.int32), np.array([1, 2], dtype=np.int64)),
        (np.float32(0.1), np.float32(0.2)),
        (float("nan"), float("inf")),
        (Message("user", "a"), Message("user", "b")),
        (Passage("p", "t", metadata={"year": 1}), Passage("p", "t", metadata={"year": 2})),
    ],
)
def test_different_values_have_different_hashes(one: Any, other: Any) -> None:
    assert digest([one]) != digest([other])
    assert digest([one]) == digest([one])


def test_a_stage_state_is_no_part_of_a_question() -> None:
    assert digest(Question("Why?", stage_state={"mmr": {"turn": Unknown()}})) == digest(
        Question("Why?")
    )


@pytest.mark.parametrize(
    "value", [Unknown(), Listed(), Unknown, print, {(1, 2): "a"}, toys.EchoLLM()]
)
def test_what_has_no_fixed_form_is_an_error_that_names_the_parameter(value: Any) -> None:
    with pytest.raises(
        UnidentifiedValue, match=r"^mine: parameter weights cannot be identified, so results"
    ):
        compute_fingerprint(toys.EchoLLM(), "mine", {"weights": [value]})


def test_an_argument_that_cannot_be_identified_is_named() -> None:
    stage = toys.LetterEmbedder()
    stage.fingerprint = "f"
    with pytest.raises(
        UnidentifiedValue,
        match=r"^LetterEmbedder\.detect: an argument cannot .*Unknown has no fixed form",
    ):
        compute_call_key(stage, "detect", {"query": "Why?", "passage": Unknown()})


def test_libraries_are_those_of_all_classes_and_their_versions_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert collect_libraries(Derived) == ("hydra-core", "numpy", "pluggy")
    before = compute_fingerprint(Derived(), "derived", {})
    assert compute_fingerprint(Derived(), "derived", {}) == before
    monkeypatch.setattr(
        fingerprint, "find_version", lambda name: "9" if name == "pluggy" else find_version(name)
    )
    assert compute_fingerprint(Derived(), "derived", {}) != before


def test_a_version_is_found_by_distribution_or_by_module() -> None:
    assert find_version("scikit-learn").split(".")[0].isdigit()
    assert find_version("sklearn") == f"scikit-learn {find_version('scikit-learn')}"
    assert find_version("no_such_library") == ""


def test_endpoints_and_contents_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {compute_fingerprint(toys.EchoLLM(), "echo", {})}
    monkeypatch.setattr(toys.EchoLLM, "endpoints", lambda self: ["http://a"], raising=False)
    found.add(compute_fingerprint(toys.EchoLLM(), "echo", {}))
    monkeypatch.setattr(toys.EchoLLM, "content_hash", lambda self: "files")
    found.add(compute_fingerprint(toys.EchoLLM(), "echo", {}))
    assert len(found) == 3
