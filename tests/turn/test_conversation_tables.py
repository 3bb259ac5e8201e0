"""Texts on their way to the database and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from convrag.api.records import TurnRecord, Usage
from convrag.store.strict_json import parse_json
from convrag.turn import conversation_database
from convrag.turn.conversation_database import escape, format_record, hash_id, unescape

TEXTS = st.text(st.characters(codec=None)) | st.text("\0\\0ud8\ud83d\ude00😀", max_size=12)


@given(TEXTS)
@example("\\")
@example("\\0")
@example("\0")
@example("\\ud800")
@example("\ud800")
@example("\\\\u005c")
@example("\ud83d\ude00")
def test_any_text_comes_back_as_it_was(text: str) -> None:
    kept = escape(text)
    kept.encode("utf-8")
    assert "\0" not in kept
    assert unescape(kept) == text


def test_an_ordinary_text_is_kept_as_it_is() -> None:
    assert escape("Tea for 😀/../x") == "Tea for 😀/../x"


@given(TEXTS, TEXTS)
def test_ids_that_differ_have_keys_that_differ(one: str, other: str) -> None:
    assert (hash_id(one) == hash_id(other)) == (one == other)
    assert len(hash_id(one)) == 32


@pytest.mark.parametrize("said", ["And mine?", "half a pair: \ud83d", "\0 \\ 😀"])
@pytest.mark.parametrize("value", [0.1, float("nan"), 1e300, 2**80, (1, 2), {1: "a key that is no text"}])
def test_a_record_is_the_same_with_and_without_orjson(said: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("orjson")
    usage = {"generator": Usage(calls=1, cost_usd=float("inf"))}
    record = TurnRecord("tea", "tea<::>1", "default", 1, said, trace={"rewriter": {"value": value}}, usage=usage)
    with_it = format_record(record)
    with_it.encode("utf-8")
    monkeypatch.setattr(conversation_database, "orjson", None)
    assert parse_json(with_it) == parse_json(format_record(record))
