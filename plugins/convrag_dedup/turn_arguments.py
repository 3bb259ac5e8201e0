"""The arguments of a turn of `RAGPipeline`, checked before anything runs."""

from collections.abc import Mapping
from typing import Any

from convrag import ConfigError

_QUERY_KEYS = ("text", "query", "question")


def read_query(query: object) -> str:
    """Return the text of a query, which is a text or a mapping that has one.

    Raises ConfigError for anything else, and for a text without a word.
    """
    text = _find_text(query)
    if text is None:
        keys = ", ".join(_QUERY_KEYS)
        found = sorted(map(str, query)) if isinstance(query, Mapping) else repr(query)
        raise ConfigError(f"query: a text, or a mapping with one under {keys}, not {found}")
    if not text.strip():
        raise ConfigError(f"query={text!r}: it is blank; give the user's words")
    return text


def _find_text(query: object) -> str | None:
    if isinstance(query, str):
        return query
    if isinstance(query, Mapping):
        for key in _QUERY_KEYS:
            text = query.get(key)
            if isinstance(text, str):
                return text
    return None


def check_conversation_id(conversation_id: Any) -> str:
    """Return a conversation's id. Raises ConfigError unless it is a text that is not blank."""
    if not isinstance(conversation_id, str):
        raise ConfigError(f"conversation_id: a text, not {conversation_id!r}")
    if not conversation_id.strip():
        raise ConfigError(
            f"conversation_id={conversation_id!r}: it is blank; give each conversation a name"
        )
    return conversation_id


def check_count(name: str, value: Any) -> int:
    """Return a count. Raises ConfigError unless it is a whole number of at least 1.

    Args:
        name: of the argument.
        value: its value.
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < 1:
        raise ConfigError(f"{name}={value!r}: it must be a whole number of at least 1")
    return int(value)
