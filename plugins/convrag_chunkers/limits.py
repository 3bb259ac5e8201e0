"""The checks of the numbers that several chunkers have."""

from __future__ import annotations

from convrag import ConfigError


def check_tokens(tokens: int) -> None:
    """Raises ConfigError: a passage would have no token."""
    if tokens < 1:
        raise ConfigError(f"chunker.tokens={tokens}: at least 1")


def choose_part(name: str, given: int | None, share: int, tokens: int) -> int:
    """Return a number of tokens that is at most half of a passage.

    Args:
        name: of the parameter.
        given: its value; None for one of so many parts of a passage.
        share: the number of these parts.
        tokens: the most that a passage has.

    Raises:
        ConfigError: a number is out of range.
    """
    check_tokens(tokens)
    if given is None:
        return tokens // share
    if not 0 <= 2 * given <= tokens:
        raise ConfigError(f"chunker.{name}={given}: from 0 to half of chunker.tokens={tokens}")
    return given
