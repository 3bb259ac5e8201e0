"""The checks of the numbers that several chunkers have."""

from __future__ import annotations

from convrag import ConfigError


def check_tokens(tokens: int) -> None:
    """Raises ConfigError: a passage would have no token."""
    if tokens < 1:
        raise ConfigError(f"chunker.tokens={tokens}: at least 1")


def check_overlap(overlap: int, tokens: int) -> None:
    """Raises ConfigError: two passages would share more than half of their text."""
    check_tokens(tokens)
    if not 0 <= 2 * overlap <= tokens:
        raise ConfigError(f"chunker.overlap={overlap}: from 0 to half of chunker.tokens={tokens}")
