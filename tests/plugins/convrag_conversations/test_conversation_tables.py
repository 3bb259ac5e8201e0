"""Texts on their way to the database and back."""

from hypothesis import example, given, strategies as st

from convrag_conversations.database import escape, hash_id, unescape

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


@given(TEXTS, TEXTS)
def test_ids_that_differ_have_keys_that_differ(one: str, other: str) -> None:
    assert (hash_id(one) == hash_id(other)) == (one == other)
    assert len(hash_id(one)) == 32
